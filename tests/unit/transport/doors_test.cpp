// Which sockets of the process UCX's doors have let in, and which are none of UCX's.
#include "ucx/doors.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "foundation/unique_fd.h"

namespace orchid::transport {
namespace {

sockaddr_in at(const char* address, std::uint16_t port) {
  sockaddr_in name{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  REQUIRE(::inet_pton(AF_INET, address, &name.sin_addr) == 1);
  return name;
}

/// Empty: somebody else has the port.
UniqueFd try_bind(const char* address, std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in name = at(address, port);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return {};
  return socket;
}

UniqueFd bound(const char* address) {
  UniqueFd socket = try_bind(address, 0);
  REQUIRE(socket);
  return socket;
}

void listen_at(const UniqueFd& socket) { REQUIRE(::listen(socket.get(), 4) == 0); }

UniqueFd listening(const char* address) {
  UniqueFd socket = bound(address);
  listen_at(socket);
  return socket;
}

std::uint16_t port_of(const UniqueFd& socket) {
  sockaddr_in name{};
  socklen_t length = sizeof(name);
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length) == 0);
  return ntohs(name.sin_port);
}

/// The end that connects, and the one that was accepted.
std::pair<UniqueFd, UniqueFd> connected(UniqueFd from, const char* address,
                                        const UniqueFd& listener) {
  const sockaddr_in name = at(address, port_of(listener));
  REQUIRE(::connect(from.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
  UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(accepted);
  return {std::move(from), std::move(accepted)};
}

bool is_alive(const std::pair<UniqueFd, UniqueFd>& connection) {
  char sign = 'x';
  return ::send(connection.first.get(), &sign, 1, MSG_NOSIGNAL) == 1 &&
         ::recv(connection.second.get(), &sign, 1, MSG_DONTWAIT) == 1;
}

std::array<std::byte, 2> address_with(std::uint16_t port) {
  return {static_cast<std::byte>(port >> 8), static_cast<std::byte>(port)};
}

LaneDeadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

/// A connection from before the watch, a door with its port, and one more socket with that.
struct SamePort {
  std::pair<UniqueFd, UniqueFd> older;
  Doors doors;
  UniqueFd door;
  UniqueFd younger;
};

/// Nothing: a test beside this one has the port that the kernel has chosen, at another address.
std::optional<SamePort> try_same_port(const UniqueFd& others) {
  auto older = connected(bound("127.0.0.2"), "127.0.0.3", others);
  const std::uint16_t port = port_of(older.first);
  auto doors = Doors::watch();
  REQUIRE(doors.has_value());
  UniqueFd door = try_bind("127.0.0.1", port);
  UniqueFd younger = try_bind("127.0.0.4", port);
  if (!door || !younger) return std::nullopt;
  return SamePort{.older = std::move(older),
                  .doors = std::move(*doors),
                  .door = std::move(door),
                  .younger = std::move(younger)};
}

}  // namespace

TEST_CASE("whoever came through a door is cut off, and nobody who has its port elsewhere") {
  const UniqueFd others = listening("127.0.0.3");
  constexpr int attempts = 100;
  std::optional<SamePort> sockets;
  for (int i = 0; i < attempts && !sockets; ++i) sockets = try_same_port(others);
  REQUIRE(sockets.has_value());
  auto& [older, doors, door, younger_end] = *sockets;
  const std::uint16_t port = port_of(door);
  listen_at(door);
  REQUIRE(doors.opened(address_with(port)).has_value());
  CHECK(doors.ports() == std::vector{port});
  const auto younger = connected(std::move(younger_end), "127.0.0.3", others);
  const auto stranger = connected(bound("127.0.0.5"), "127.0.0.1", door);
  CHECK(is_alive(stranger));
  REQUIRE(doors.shut({}, soon()).has_value());
  CHECK(is_alive(older));
  CHECK(is_alive(younger));
  CHECK_FALSE(is_alive(stranger));
}

TEST_CASE("connections that were there before go to no peer, whatever port they go to") {
  const UniqueFd listener = listening("127.0.0.1");
  const std::array<std::uint16_t, 1> ports{port_of(listener)};
  const auto older = connected(bound("127.0.0.2"), "127.0.0.1", listener);
  const auto doors = Doors::watch();
  REQUIRE(doors.has_value());
  const auto younger = connected(bound("127.0.0.2"), "127.0.0.1", listener);
  const auto made = doors->connections_to(ports);
  REQUIRE(made.has_value());
  REQUIRE(made->size() == 1);
  CHECK(made->front().names.local.port == port_of(younger.first));
}

}  // namespace orchid::transport
