// ucx/interfaces.h: the network interfaces of this host and the names of sockets. Nothing here
// needs netlink, so that a confined process can ask.
#pragma once
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace orchid::transport {

/// In IPv6 form (IPv4 mapped): plain bytes, as they go through the door.
using HostAddress = std::array<std::byte, 16>;

/// An address and a port.
struct SocketName {
  HostAddress address{};
  std::uint16_t port = 0;
  friend bool operator==(const SocketName&, const SocketName&) = default;
};
/// Nothing: of no IP.
[[nodiscard]] std::optional<SocketName> socket_name(const sockaddr_storage& storage);
/// Of the other end of a connected socket; nothing when it has none.
[[nodiscard]] std::optional<SocketName> peer_of(int socket);

/// Where an IPv4 address of this host, "192.0.2.7", belongs, as UCX names it; empty when it is
/// none, or none of this host: then UCX has to look at all.
[[nodiscard]] std::string interface_of(const std::string& address);

}  // namespace orchid::transport
