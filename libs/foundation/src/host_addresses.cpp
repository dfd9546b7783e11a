#include "foundation/host_addresses.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>

#include "foundation/unique_fd.h"

namespace orchid {
namespace {

/// Where the host begins: after "http://".
std::size_t host_start(std::string_view address) {
  const auto scheme = address.find("://");
  return scheme == std::string_view::npos ? 0 : scheme + 3;
}

}  // namespace

std::string own_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool is_loopback(std::string_view address) {
  address.remove_prefix(host_start(address));
  return address.starts_with("127.") || address.starts_with("[::1]") ||
         address.starts_with("localhost:");
}

std::string with_host(std::string_view address, std::string_view host_name) {
  const std::size_t start = host_start(address);
  for (const std::string_view any : {"0.0.0.0", "[::]"})
    if (address.substr(start).starts_with(std::string(any) + ":"))
      return std::string(address.substr(0, start)) + std::string(host_name) +
             std::string(address.substr(start + any.size()));
  return std::string(address);
}

std::vector<std::string> addresses_from_elsewhere(const std::vector<std::string>& addresses,
                                                  std::string_view host_name) {
  std::vector<std::string> reachable;
  for (const std::string& address : addresses)
    if (!is_loopback(address)) reachable.push_back(with_host(address, host_name));
  return reachable;
}

std::string address_towards(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const addrinfo hints{.ai_flags = 0, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    // Nothing is sent: the kernel says by which address it would be.
    const UniqueFd socket(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    std::array<char, 128> name{};
    if (!socket || ::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, name.data(), name.size(),
                      nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    return one->ai_family == AF_INET6 ? fmt::format("[{}]:0", name.data())
                                      : fmt::format("{}:0", name.data());
  }
  return {};
}

}  // namespace orchid
