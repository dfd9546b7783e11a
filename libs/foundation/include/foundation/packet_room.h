// foundation/packet_room.h: packets to a peer that may have no room for them now.
#pragma once
#include <string_view>

#include "foundation/result.h"

namespace orchid {

/// Sends `head` and `bytes` as one packet over a socket of foundation/sockets.h; does not block.
/// False: what the peer has let pile up leaves no room. Errors: `unreachable`.
[[nodiscard]] Result<bool> try_send_packet(int socket, std::string_view head,
                                           std::string_view bytes = {});

}  // namespace orchid
