// ucx/peer_filter.h: packets of strangers do not reach a listening socket: the kernel drops them,
// the first one of a connection too, before whoever owns the socket hears of it.
#pragma once
#include <span>

#include "ucx/interfaces.h"

namespace orchid::transport {

/// Of a listening TCP socket: packets come from these addresses only. Connections that it accepts
/// inherit that. A later call replaces the list. False: this kernel lets only root do that (Linux's
/// own lets anybody).
[[nodiscard]] bool admit_only(int socket, std::span<const HostAddress> sources);
/// Of a connected socket: no packet is looked at any more.
void admit_all(int socket);

}  // namespace orchid::transport
