// http_session_fixture.h: one connection of a client, without a thread: handlers keep their
// replies, and nothing happens but when the test says so.
#pragma once
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "foundation/unique_fd.h"
#include "server/session.h"

namespace orchid::gateway::test {

struct SessionFixture {
  SessionFixture() {
    const auto keep = [this](Request&, const Reply& wanted) { reply.emplace(wanted); };
    router.add(Method::get, "/call", {.is_public = true}, keep);
    router.add(Method::put, "/room", {.is_public = true, .streams = true}, keep);
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    client = UniqueFd(ends[0]);
    StreamSocket socket(io, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
    socket.non_blocking(true);  // as HttpThread has them
    session = std::make_shared<Session>(host, 1, std::move(socket), std::nullopt);
    session->start();
  }
  ~SessionFixture() { session->abandon(); }
  void run() {
    io.restart();
    io.poll();
  }
  void send(const std::string& text) {
    REQUIRE(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
    run();
  }
  [[nodiscard]] std::string received() const {
    std::array<char, 4096> text{};
    const ssize_t count = ::recv(client.get(), text.data(), text.size(), MSG_DONTWAIT);
    return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "";
  }

  boost::asio::io_context io{1};
  Router router;
  TokenBook tokens{Tenant{1, "somebody"}, {}};
  HttpMetrics metrics;
  SessionHost host{.router = router,
                   .tokens = tokens,
                   .limits = {},
                   .ended = [](std::uint64_t) {},
                   .metrics = metrics};
  UniqueFd client;
  std::shared_ptr<Session> session;
  std::optional<Reply> reply;
};

}  // namespace orchid::gateway::test
