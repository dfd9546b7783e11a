// server/listening_socket.h: where clients connect: TCP addresses and Unix sockets.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::gateway {

struct ListeningSocket {
  UniqueFd socket;  // non-blocking
  int family = 0;
  bool trusts_uid = false;  // a Unix socket whose peers are who the kernel says they are
  std::string url;          // "http://127.0.0.1:8080", "http://[::1]:8080", "unix:/path"
};

/// `address`: "127.0.0.1:8080", "[::1]:0" (0: any free port), "host.name:80". Errors:
/// `bad_configuration` (not an address, or a name that does not resolve), `unsupported` (the kernel
/// lacks the address family), `conflict` (in use), `system`.
[[nodiscard]] Result<ListeningSocket> listen_tcp(std::string_view address);
/// Whether who connects to a Unix socket is known by the uid, or needs a token as over TCP; and
/// whether other users than ours may connect at all.
enum class UnixPeers { by_uid, by_token, anybody_by_uid };
/// Mode 0600; replaces a stale socket. Long paths work. Errors: `bad_configuration`, `system`.
[[nodiscard]] Result<ListeningSocket> listen_unix(const std::filesystem::path& path,
                                                  UnixPeers peers);

}  // namespace orchid::gateway
