#include "lanes/member_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

/// IPv4 mapped. Nothing: it is no address, or one in an uncommon form.
std::optional<in6_addr> parse(const std::string& host) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  in6_addr address{};
  if (::inet_pton(AF_INET6, is_ipv6 ? host.c_str() : ("::ffff:" + host).c_str(), &address) != 1)
    return std::nullopt;
  return address;
}

enum class Reach : std::uint8_t { everywhere, this_link, this_host, many };

Reach reach_of(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    const std::uint8_t first = address.s6_addr[12];
    if (first == 127) return Reach::this_host;
    if (first == 169 && address.s6_addr[13] == 254) return Reach::this_link;
    return first == 0 || first >= 224 ? Reach::many : Reach::everywhere;
  }
  if (IN6_IS_ADDR_LOOPBACK(&address)) return Reach::this_host;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return Reach::this_link;
  // What is left of ::/96 means an IPv4 address, as one mapped does.
  if (IN6_IS_ADDR_MULTICAST(&address) || IN6_IS_ADDR_UNSPECIFIED(&address) ||
      IN6_IS_ADDR_V4COMPAT(&address))
    return Reach::many;
  return Reach::everywhere;
}

constexpr std::uint16_t first_free_port = 1024;

}  // namespace

bool is_member_address(const std::string& address, const std::string& own_host) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  const auto port = parse_number<std::uint16_t>(std::string_view(address).substr(colon + 1));
  if (!port || *port < first_free_port) return false;
  std::string host = address.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  if (is_bracketed != (host.find(':') != std::string::npos)) return false;
  const auto there = parse(host);
  if (!there) return false;
  const Reach reach = reach_of(*there);
  if (reach == Reach::everywhere) return true;
  const auto here = parse(own_host);
  return reach != Reach::many && here && reach_of(*here) == reach;
}

}  // namespace orchid::executor
