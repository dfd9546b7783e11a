#include "foundation/host_addresses.h"

#include <unistd.h>

#include <array>
#include <fstream>

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

}  // namespace orchid
