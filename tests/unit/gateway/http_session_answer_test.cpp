// Requests whose handler is not done when the connection, or what it works for, goes.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "foundation/unique_fd.h"
#include "http/body.h"
#include "server/session.h"

namespace orchid::gateway {
namespace {

struct RememberingWatcher final : ClientWatcher {
  void client_gone(std::uint64_t call) override { gone = call; }
  std::uint64_t gone = 0;
};

/// Tells whether it was given up.
class WatchedSink final : public BodySink {
 public:
  explicit WatchedSink(bool& is_gone) : is_gone_(is_gone) {}
  WatchedSink(const WatchedSink&) = delete;
  WatchedSink& operator=(const WatchedSink&) = delete;
  ~WatchedSink() override { is_gone_ = true; }
  Result<void> take(std::span<const std::byte> /*bytes*/) override { return {}; }
  void finish() override {}

 private:
  bool& is_gone_;
};

struct AnswerFixture {
  AnswerFixture() {
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
  ~AnswerFixture() { session->abandon(); }
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
  RememberingWatcher watcher;
};

}  // namespace

TEST_CASE("a client that goes before its call is watched is noticed") {
  AnswerFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(fixture.reply.has_value());
  SUBCASE("it has closed its connection") { fixture.client.reset(); }
  SUBCASE("it has closed its sending side") {
    REQUIRE(::shutdown(fixture.client.get(), SHUT_WR) == 0);
  }
  fixture.run();
  fixture.reply->watch(fixture.watcher, 7);
  CHECK(fixture.watcher.gone == 7);
}

TEST_CASE("a client that is there is watched, and one that goes then is noticed") {
  AnswerFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->watch(fixture.watcher, 7);
  CHECK(fixture.watcher.gone == 0);
  fixture.client.reset();
  fixture.run();
  CHECK(fixture.watcher.gone == 7);
}

TEST_CASE("a body whose sink is of no use any more is answered before it is whole") {
  AnswerFixture fixture;
  fixture.send("PUT /room HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
  REQUIRE(fixture.reply.has_value());
  bool is_gone = false;
  fixture.reply->take_body(std::make_unique<WatchedSink>(is_gone));
  fixture.send("part of it");
  CHECK_FALSE(is_gone);
  Response response;
  response.status = 503;
  fixture.reply->send(std::move(response));
  fixture.run();
  CHECK(is_gone);
  const std::string answer = fixture.received();
  CHECK(answer.contains("503"));
  CHECK(answer.contains("Connection: close"));
}

}  // namespace orchid::gateway
