#include "foundation/packet_room.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "foundation/sockets.h"
#include "foundation/units.h"

namespace orchid {

Result<bool> try_send_packet(int socket, std::string_view head, std::string_view bytes) {
  if (head.size() + bytes.size() > max_packet_bytes)
    return fail(
        ErrorCode::too_large,
        "a packet of " + to_string(ByteCount{head.size() + bytes.size()}) + " is too large");
  std::array parts{iovec{const_cast<char*>(head.data()), head.size()},
                   iovec{const_cast<char*>(bytes.data()), bytes.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  while (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return fail(system_failure(ErrorCode::unreachable, "sendmsg", errno));
  }
  return true;
}

}  // namespace orchid
