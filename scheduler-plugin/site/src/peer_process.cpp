#include "peer_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foundation/sockets.h"

namespace orchid::site {
namespace {

constexpr int peer_pidfd = 77;  // SO_PEERPIDFD, which Debian 12's headers do not know

UniqueFd descriptor_of(int socket, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (::getsockopt(socket, SOL_SOCKET, peer_pidfd, &fd, &size) == 0) return UniqueFd(fd);
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

bool PeerProcess::has_ended() const {
  pollfd wait{descriptor.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) != 0;
}

Result<PeerProcess> peer_process(int socket) {
  const auto credentials = peer_credentials(socket);
  if (!credentials) return fail(credentials.error());
  PeerProcess peer{.pid = credentials->pid,
                   .uid = credentials->uid,
                   .descriptor = descriptor_of(socket, credentials->pid)};
  if (!peer.descriptor || peer.has_ended())
    return fail(ErrorCode::not_found, "the process that has connected is gone");
  return peer;
}

}  // namespace orchid::site
