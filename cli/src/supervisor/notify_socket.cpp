#include "supervisor/notify_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "foundation/random.h"

namespace orchid::cli {

Notification parse_notification(std::string_view text) {
  Notification notification;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line == "READY=1") notification.ready = true;
    if (line == "READY=1" || line == "WATCHDOG=1") notification.alive = true;
    if (line == "STOPPING=1") notification.stopping = true;
    if (line.starts_with("STATUS=")) notification.status = line.substr(7);
  }
  return notification;
}

Result<NotifySocket> NotifySocket::open(const std::filesystem::path& directory) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("socket");
  constexpr int on = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
    return fail_errno("SO_PASSCRED");

  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = (directory / "notify").string();
  const bool abstract = name.size() >= sizeof(address.sun_path);
  if (abstract) {
    name = "@orchid-up-" + random_hex(16);
  } else {
    ::unlink(name.c_str());
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  if (abstract) address.sun_path[0] = '\0';
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return fail_errno("bind " + name);
  return NotifySocket(std::move(socket), std::move(name));
}

NotifySocket::~NotifySocket() {
  if (socket_ && address_.starts_with('/')) ::unlink(address_.c_str());
}

std::optional<NotifySocket::Message> NotifySocket::receive() {
  std::array<char, 4096> text{};
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * 8)>
      control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return std::nullopt;
  Message result;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
      result.sender = credentials.pid;
    } else if (header->cmsg_type ==
               SCM_RIGHTS) {  // nobody needs to send us descriptors; do not keep them
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        ::close(fd);
      }
    }
  }
  result.notification = parse_notification({text.data(), static_cast<std::size_t>(got)});
  return result;
}

}  // namespace orchid::cli
