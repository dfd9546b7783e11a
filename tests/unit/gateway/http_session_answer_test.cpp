// Requests whose handler is not done when the connection, or what it works for, goes.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "http/body.h"
#include "http_session_fixture.h"

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

}  // namespace

TEST_CASE("a client that goes before its call is watched is noticed") {
  RememberingWatcher watcher;
  test::SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(fixture.reply.has_value());
  SUBCASE("it has closed its connection") { fixture.client.reset(); }
  SUBCASE("it has closed its sending side") {
    REQUIRE(::shutdown(fixture.client.get(), SHUT_WR) == 0);
  }
  fixture.run();
  fixture.reply->watch(watcher, 7);
  CHECK(watcher.gone == 7);
}

TEST_CASE("a client that is there is watched, and one that goes then is noticed") {
  RememberingWatcher watcher;
  test::SessionFixture fixture;
  fixture.send("GET /call HTTP/1.1\r\nHost: x\r\n\r\n");
  fixture.reply->watch(watcher, 7);
  CHECK(watcher.gone == 0);
  fixture.client.reset();
  fixture.run();
  CHECK(watcher.gone == 7);
}

TEST_CASE("a body whose sink is of no use any more is answered before it is whole") {
  test::SessionFixture fixture;
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
