#include "ucx/interfaces.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <span>

#include "foundation/unique_fd.h"

namespace orchid::transport {
namespace {

constexpr std::size_t most_interfaces = 256;

}  // namespace

std::string interface_of(const std::string& address) {
  in_addr wanted{};
  if (::inet_pton(AF_INET, address.c_str(), &wanted) != 1 || wanted.s_addr == INADDR_ANY) return {};
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::array<ifreq, most_interfaces> room{};
  ifconf list{};
  list.ifc_len = static_cast<int>(sizeof(room));
  list.ifc_req = room.data();
  if (!socket || ::ioctl(socket.get(), SIOCGIFCONF, &list) != 0) return {};
  for (const ifreq& one :
       std::span(room).first(static_cast<std::size_t>(list.ifc_len) / sizeof(ifreq))) {
    const auto& has = reinterpret_cast<const sockaddr_in&>(one.ifr_addr);
    if (has.sin_family != AF_INET || has.sin_addr.s_addr != wanted.s_addr) continue;
    const std::string name = one.ifr_name;
    return name.substr(0, name.find(':'));  // a further address of eth0 is called eth0:1
  }
  return {};
}

}  // namespace orchid::transport
