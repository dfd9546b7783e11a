#include "foundation/sockets.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace orchid {
namespace {

Result<std::pair<sockaddr_un, UniqueFd>> make_address(const std::filesystem::path& path) {
  auto fitted = fit_socket_path(path);
  if (!fitted) return fail(std::move(fitted.error()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, fitted->path.data(), fitted->path.size());
  return std::pair{address, std::move(fitted->directory)};
}

}  // namespace

Result<SocketAddressPath> fit_socket_path(const std::filesystem::path& path) {
  constexpr std::size_t capacity = sizeof(sockaddr_un::sun_path) - 1;
  if (path.native().size() <= capacity) return SocketAddressPath{path.native(), {}};
  UniqueFd directory(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno("open " + path.parent_path().string());
  std::string shorter =
      "/proc/self/fd/" + std::to_string(directory.get()) + "/" + path.filename().string();
  if (shorter.size() > capacity)
    return fail(ErrorCode::bad_configuration,
                "the socket's file name '" + path.filename().string() + "' is too long");
  return SocketAddressPath{std::move(shorter), std::move(directory)};
}

Result<std::pair<UniqueFd, UniqueFd>> make_packet_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> listen_packets(const std::filesystem::path& path) {
  auto address = make_address(path);
  if (!address) return fail(std::move(address.error()));
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("socket");
  ::unlink(path.c_str());
  const mode_t previous = ::umask(0177);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->first), sizeof(sockaddr_un));
  ::umask(previous);
  if (bound != 0) return fail_errno("bind " + path.string());
  if (::listen(socket.get(), 128) != 0) return fail_errno("listen " + path.string());
  return socket;
}

namespace {

Result<UniqueFd> connect_with(const std::filesystem::path& path, int type) {
  auto address = make_address(path);
  if (!address) return fail(std::move(address.error()));
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->first),
                sizeof(sockaddr_un)) != 0)
    return fail(system_failure(ErrorCode::unreachable, "connect " + path.string(), errno));
  return socket;
}

}  // namespace

Result<UniqueFd> connect_packets(const std::filesystem::path& path) {
  return connect_with(path, SOCK_SEQPACKET);
}

Result<UniqueFd> connect_packets_at_once(const std::filesystem::path& path) {
  return connect_with(path, SOCK_SEQPACKET | SOCK_NONBLOCK);
}

Result<UniqueFd> connect_stream_at_once(const std::filesystem::path& path) {
  return connect_with(path, SOCK_STREAM | SOCK_NONBLOCK);
}

Result<void> send_packet(int socket, std::string_view text, const std::vector<int>& descriptors) {
  if (text.size() > max_packet_bytes || descriptors.size() > max_packet_descriptors)
    return fail(ErrorCode::too_large,
                "a packet of " + to_string(ByteCount{text.size()}) + " is too large");
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_packet_descriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    return fail(system_failure(ErrorCode::unreachable, "sendmsg", errno));
  }
  return {};
}

Result<std::optional<Packet>> receive_packet(int socket, bool wait) {
  thread_local std::string buffer(max_packet_bytes, '\0');
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_packet_descriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<Packet>{};
  if (got < 0) return fail(system_failure(ErrorCode::unreachable, "recvmsg", errno));
  Packet packet;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      packet.descriptors.emplace_back(fd);
    }
  }
  if (got == 0) return fail(ErrorCode::unreachable, "the peer has closed the connection");
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return fail(ErrorCode::bad_request, "a packet was larger than the protocol allows");
  packet.text.assign(buffer.data(), static_cast<std::size_t>(got));
  return std::optional<Packet>(std::move(packet));
}

Result<PeerCredentials> peer_credentials(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return fail_errno("SO_PEERCRED");
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

}  // namespace orchid
