#include "supervisor_notice.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "foundation/sockets.h"

namespace orchid::executor {

SupervisorNotice::SupervisorNotice(const std::string& socket_path) {
  if (socket_path.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = socket_path;
  UniqueFd directory;
  if (name.front() == '@') {
    name.front() = '\0';  // abstract
  } else if (auto fitted = fit_socket_path(name)) {
    name = fitted->path;
    directory = std::move(fitted->directory);
  }
  if (name.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, name.data(), name.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0)
    socket_ = std::move(socket);
}

void SupervisorNotice::send(std::string_view text) const {
  if (socket_) [[maybe_unused]]
    const auto sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace orchid::executor
