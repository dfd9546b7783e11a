#include "ucx/interfaces.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <cstring>
#include <span>
#include <vector>

#include "foundation/unique_fd.h"

namespace orchid::transport {
namespace {

constexpr std::size_t most_interfaces = 256;

HostAddress mapped(const in_addr& v4) {
  HostAddress address{};
  address[10] = address[11] = std::byte{0xff};
  std::memcpy(&address[12], &v4, 4);
  return address;
}

struct Interface {
  std::string name;
  in_addr address{};
};

std::vector<Interface> v4_interfaces() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::array<ifreq, most_interfaces> room{};
  ifconf list{};
  list.ifc_len = static_cast<int>(sizeof(room));
  list.ifc_req = room.data();
  std::vector<Interface> found;
  if (!socket || ::ioctl(socket.get(), SIOCGIFCONF, &list) != 0) return found;
  for (const ifreq& one :
       std::span(room).first(static_cast<std::size_t>(list.ifc_len) / sizeof(ifreq))) {
    const auto& has = reinterpret_cast<const sockaddr_in&>(one.ifr_addr);
    if (has.sin_family == AF_INET) found.push_back({one.ifr_name, has.sin_addr});
  }
  return found;
}

}  // namespace

std::optional<SocketName> socket_name(const sockaddr_storage& storage) {
  SocketName name;
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    name.address = mapped(v4.sin_addr);
    name.port = ntohs(v4.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    std::memcpy(name.address.data(), &v6.sin6_addr, name.address.size());
    name.port = ntohs(v6.sin6_port);
  } else {
    return std::nullopt;
  }
  return name;
}

std::optional<SocketName> peer_of(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    return std::nullopt;
  return socket_name(storage);
}

std::string interface_of(const std::string& address) {
  in_addr wanted{};
  if (::inet_pton(AF_INET, address.c_str(), &wanted) != 1 || wanted.s_addr == INADDR_ANY) return {};
  for (const Interface& one : v4_interfaces())
    if (one.address.s_addr == wanted.s_addr)
      return one.name.substr(0, one.name.find(':'));  // a further one of eth0 is called eth0:1
  return {};
}

}  // namespace orchid::transport
