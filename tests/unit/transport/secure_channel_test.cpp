#include "transport/secure_channel.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "foundation/files.h"

namespace orchid::transport {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

const std::string secret(64, 'a');

/// A listening socket on a port that the kernel chose.
struct Door {
  UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string address;

  Door() {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size) == 0);
    REQUIRE(::listen(listener.get(), 8) == 0);
    REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size) == 0);
    address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  }
  UniqueFd take() { return UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
};

std::optional<std::string> only_ada(std::string_view identity) {
  if (identity == "ada") return secret;
  return std::nullopt;
}

struct Ends {
  SecureChannel client;
  SecureChannel server;
};

Ends make_ends(const std::string& identity = "ada", const std::string& client_secret = secret) {
  Door door;
  auto client = SecureChannel::connect(
      {.address = door.address, .identity = identity, .secret = client_secret},
      Clock::now() + seconds(5));
  REQUIRE(client.has_value());
  auto server = SecureChannel::accept(door.take(), only_ada);
  REQUIRE(server.has_value());
  return {std::move(*client), std::move(*server)};
}

/// Lets both ends work until `wanted` has a packet, or one of them fails. Only what hangs takes
/// two minutes, and 20 MiB more than 20 s on an emulated processor.
Result<Packet> exchange(SecureChannel& wanted, SecureChannel& other) {
  const auto deadline = Clock::now() + seconds(120);
  while (Clock::now() < deadline) {
    auto packet = wanted.receive();
    if (!packet) return fail(std::move(packet.error()));
    if (*packet) return std::move(**packet);
    if (auto nothing = other.receive(); !nothing) return fail(std::move(nothing.error()));
    const auto events = [](const SecureChannel& end) {
      return static_cast<short>(POLLIN | (end.wants_to_write() ? POLLOUT : 0));
    };
    pollfd wait[2] = {{wanted.descriptor(), events(wanted), 0},
                      {other.descriptor(), events(other), 0}};
    ::poll(wait, 2, 100);
  }
  return fail(ErrorCode::timed_out, "no packet came");
}

TEST_CASE("packets and a file go both ways, and the accepting end knows who sent them") {
  Ends ends = make_ends();
  CHECK(ends.server.identity().empty());
  REQUIRE(ends.client.send("hello").has_value());
  CHECK(exchange(ends.server, ends.client)->text == "hello");
  CHECK(ends.server.identity() == "ada");
  std::vector<std::byte> content(20 << 20);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 31);
  const auto file = make_sealed_memory("test", content);
  REQUIRE(ends.server.send("code", {file->get()}).has_value());
  REQUIRE(ends.server.send("").has_value());
  const auto packet = exchange(ends.client, ends.server);
  REQUIRE(packet.has_value());
  CHECK(packet->text == "code");
  REQUIRE(packet->descriptors.size() == 1);
  const auto mapped = MappedFile::map(packet->descriptors[0].get(), {.limit = 64_MiB});
  REQUIRE(mapped.has_value());
  CHECK(std::equal(mapped->bytes().begin(), mapped->bytes().end(), content.begin(), content.end()));
  CHECK(exchange(ends.client, ends.server)->text.empty());
}

TEST_CASE("who does not have the secret is not heard, and learns no more than that") {
  for (const auto& [who, with] : {std::pair{"ada", std::string(64, 'b')}, std::pair{"eve", secret},
                                  std::pair{"ada", std::string("x")}}) {
    CAPTURE(who);
    Ends ends = make_ends(who, with);
    const auto heard = exchange(ends.server, ends.client);
    REQUIRE_FALSE(heard.has_value());
    CHECK(ends.server.identity().empty());
  }
}

TEST_CASE("a connection that fell silent is told from one that was closed") {
  Ends ends = make_ends();
  REQUIRE(ends.client.send("hello").has_value());
  REQUIRE(exchange(ends.server, ends.client).has_value());
  const auto failed = [&] {
    const auto deadline = Clock::now() + seconds(60);
    while (Clock::now() < deadline) {
      if (!ends.client.receive()) return true;
      pollfd wait{.fd = ends.client.descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, 100);
    }
    return false;
  };
  SUBCASE("nothing is acknowledged") {
    // The kernel takes a reader without room for one that is gone.
    const int patience_ms = 100;
    REQUIRE(::setsockopt(ends.client.descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms,
                         sizeof(patience_ms)) == 0);
    const std::vector<std::byte> content(32 << 20);
    const auto file = make_sealed_memory("test", content);
    REQUIRE(ends.client.send("much", {file->get()}).has_value());
    SUBCASE("and it is heard of when something is to come") {}
    SUBCASE("and it is heard of when something is to leave") {
      // The socket's error is told once: what comes after it looks like an end.
      const auto deadline = Clock::now() + seconds(60);
      while (Clock::now() < deadline && ends.client.send("more").has_value()) {
      }
    }
    REQUIRE(failed());
    CHECK_FALSE(ends.client.has_hung_up());
  }
  SUBCASE("the peer closes it") {
    {
      const SecureChannel gone = std::move(ends.server);
    }
    REQUIRE(failed());
    CHECK(ends.client.has_hung_up());
  }
}

TEST_CASE("a peer that goes is noticed, without a signal") {
  Ends ends = make_ends();
  REQUIRE(ends.client.send("hello").has_value());
  REQUIRE(exchange(ends.server, ends.client).has_value());
  SUBCASE("by the accepting end") {
    {
      const SecureChannel gone = std::move(ends.client);
    }
    const auto deadline = Clock::now() + seconds(5);
    Result<void> sent;
    while (sent && Clock::now() < deadline) sent = ends.server.send("are you there?");
    REQUIRE_FALSE(sent.has_value());
    CHECK(sent.error().code == ErrorCode::unreachable);
  }
  SUBCASE("by the connecting end") {
    {
      const SecureChannel gone = std::move(ends.server);
    }
    pollfd wait{ends.client.descriptor(), POLLIN, 0};
    REQUIRE(::poll(&wait, 1, 5000) == 1);
    CHECK(ends.client.receive().error().code == ErrorCode::unreachable);
  }
}

TEST_CASE("what is not TLS is cut off") {
  Door door;
  auto stranger = SecureChannel::connect(
      {.address = door.address, .identity = "ada", .secret = secret}, Clock::now() + seconds(5));
  REQUIRE(stranger.has_value());
  const UniqueFd raw = door.take();
  const std::string garbage(4000, 'x');
  REQUIRE(::send(raw.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL) > 0);
  pollfd wait{stranger->descriptor(), POLLIN, 0};
  REQUIRE(::poll(&wait, 1, 5000) == 1);
  CHECK_FALSE(stranger->receive().has_value());
}

TEST_CASE("an address that nobody listens at, or that is none, is told") {
  std::string address;
  {
    const Door door;
    address = door.address;
  }
  const auto connect = [](const std::string& to) {
    return SecureChannel::connect({.address = to, .identity = "ada", .secret = secret},
                                  Clock::now() + seconds(5));
  };
  const auto closed = connect(address);
  REQUIRE_FALSE(closed.has_value());
  CHECK(closed.error().code == ErrorCode::unreachable);
  CHECK(closed.error().message.find(address) != std::string::npos);
  CHECK(connect("localhost").error().code == ErrorCode::bad_request);
  CHECK(connect("").error().code == ErrorCode::bad_request);
}

}  // namespace
}  // namespace orchid::transport
