// The gateway is the other end of a socket pair, and says what the test wants.
#include "gateway_connection.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foundation/files.h"
#include "refusal.h"

namespace orchid::door {
namespace {

using End = GatewayConnection::End;

constexpr int patience_ms = 10'000;

struct Ends {
  UniqueFd ours;
  UniqueFd gateways;
};

Ends make_pair() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// The gateway's end, as a script.
class Gateway {
 public:
  explicit Gateway(UniqueFd socket) : socket_(std::move(socket)) {}
  void say(std::string_view text) const {
    REQUIRE(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  /// So many bytes; fewer when the other side has closed.
  [[nodiscard]] std::string hear(std::size_t size) const {
    std::string text(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      REQUIRE(::poll(&entry, 1, patience_ms) == 1);
      const ssize_t n = ::recv(socket_.get(), text.data() + got, size - got, 0);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    text.resize(got);
    return text;
  }
  void hang_up() { socket_.reset(); }

 private:
  UniqueFd socket_;
};

struct Desk {
  Desk() : Desk(make_pair()) {}
  explicit Desk(Ends ends) : connection(std::move(ends.ours)), gateway(std::move(ends.gateways)) {}

  End ask(std::string_view request, bool is_head = false) {
    answer.reset();
    return connection.exchange(
        {.request = as_bytes(request),
         .is_head = is_head,
         .client = client.ours.get(),
         .deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms),
         .room = [this](std::size_t size) -> std::byte* {
           if (size > most_room) return nullptr;
           answer.emplace(size, '\0');
           return reinterpret_cast<std::byte*>(answer->data());
         }});
  }
  GatewayConnection connection;
  Gateway gateway;
  Ends client = make_pair();
  std::size_t most_room = 1 << 26;
  std::optional<std::string> answer;
};

constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: orchid\r\n\r\n";
constexpr std::string_view response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace

TEST_CASE("an answer comes back byte by byte, and the connection can go on") {
  Desk desk;
  for (int round = 0; round < 3; ++round) {
    CHECK(desk.connection.is_usable());
    desk.gateway.say(response);
    CHECK(desk.ask(request) == End::answered);
    CHECK(desk.answer == response);
    CHECK(desk.gateway.hear(request.size()) == request);
  }
}

TEST_CASE("large requests and answers pass while both sides are still busy") {
  Desk desk;
  const std::string body(8 << 20, 'x');
  const std::string large =
      "PUT / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  std::string heard;
  std::thread gateway([&] {
    heard = desk.gateway.hear(large.size());
    desk.gateway.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n");
    desk.gateway.say(body);
  });
  CHECK(desk.ask(large) == End::answered);
  gateway.join();
  CHECK(heard == large);
  REQUIRE(desk.answer.has_value());
  CHECK(desk.answer->ends_with(body));
  CHECK(desk.answer->starts_with("HTTP/1.1 200"));
  CHECK(desk.connection.is_usable());
}

TEST_CASE("an answer that comes before the end of the request counts, and ends the connection") {
  Desk desk;
  const std::string large(8 << 20, 'x');
  desk.gateway.say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
  CHECK(desk.ask(large) == End::answered);
  CHECK(desk.answer->starts_with("HTTP/1.1 413"));
  CHECK_FALSE(desk.connection.is_usable());
}

TEST_CASE("what the gateway has not seen whole is not sent, what it has seen may be done") {
  Desk closed;
  closed.gateway.hang_up();
  CHECK_FALSE(closed.connection.is_usable());
  CHECK(closed.ask(request) == End::not_sent);

  Desk half;
  std::thread hears([&] {
    (void)half.gateway.hear(100'000);
    half.gateway.hang_up();
  });
  CHECK(half.ask(std::string(8 << 20, 'x')) == End::not_sent);
  hears.join();

  Desk whole;
  std::thread goes([&] {
    (void)whole.gateway.hear(request.size());
    whole.gateway.hang_up();
  });
  CHECK(whole.ask(request) == End::lost);
  goes.join();

  Desk middle;
  std::thread begins([&] {
    (void)middle.gateway.hear(request.size());
    middle.gateway.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    middle.gateway.hang_up();
  });
  CHECK(middle.ask(request) == End::lost);
  begins.join();
}

TEST_CASE("answers without a body have none, whatever they say") {
  Desk desk;
  desk.gateway.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  CHECK(desk.ask("HEAD / HTTP/1.1\r\n\r\n", true) == End::answered);
  desk.gateway.say("HTTP/1.1 204 No Content\r\n\r\n");
  CHECK(desk.ask(request) == End::answered);
  CHECK(desk.connection.is_usable());
}

TEST_CASE("a connection that the gateway ends, or that has more than was asked for, is not used") {
  Desk closes;
  closes.gateway.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  CHECK(closes.ask(request) == End::answered);
  CHECK_FALSE(closes.connection.is_usable());

  Desk chatty;
  chatty.gateway.say(std::string(response) + "HTTP/1.1 200 OK\r\n");
  CHECK(chatty.ask(request) == End::answered);
  CHECK(chatty.answer == response);
  CHECK_FALSE(chatty.connection.is_usable());
}

TEST_CASE("streams, answers without room and nonsense are not passed on, and say why") {
  for (const char* text : {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
                           "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 200 OK\r\nbroken\r\n\r\n"}) {
    CAPTURE(std::string(text));
    Desk desk;
    desk.most_room = 50'000;
    desk.gateway.say(text);
    CHECK(desk.ask(request) == End::unsuitable);
    CHECK_FALSE(desk.connection.problem().empty());
    CHECK_FALSE(desk.connection.is_usable());
  }
}

TEST_CASE("who waits for a client that has gone stops waiting") {
  Desk desk;
  desk.client.gateways.reset();
  CHECK(desk.ask(request) == End::client_gone);
}

TEST_CASE("what the door says itself is a problem document") {
  const std::string text = http_response({.detail = "gone \"for now\"", .retryable = true});
  CHECK(text.starts_with("HTTP/1.1 502 "));
  CHECK(text.find("Orchid-Door: refused\r\n") != std::string::npos);
  CHECK(text.find("\"type\":\"urn:orchid:problem:unreachable\"") != std::string::npos);
  CHECK(text.find(R"(gone \"for now\")") != std::string::npos);
  CHECK(text.find("\"retryable\":true") != std::string::npos);
}

}  // namespace orchid::door
