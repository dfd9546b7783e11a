// A connection that tells events: what it sends, how it ends, and what a slow reader gets.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "foundation/unique_fd.h"
#include "http/event_stream.h"
#include "server/session.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

/// Tells its newest number, in events of a size that fills buffers soon.
class Numbers final : public EventSource {
 public:
  void open(std::function<void()> wake) override { wake_ = std::move(wake); }
  EventBatch take() override {
    ++takes;
    EventBatch batch;
    batch.last = over;
    if (told_ == newest) return batch;
    told_ = newest;
    append_event(batch.text, {.name = "number", .data = text_of(newest)});
    return batch;
  }
  static std::string text_of(int number) {
    return std::to_string(number) + std::string(1'000, ' ') + "end";
  }
  void set(int number) {
    newest = number;
    wake_();
  }
  void end() {
    over = true;
    wake_();
  }
  int newest = 0;
  int takes = 0;
  bool over = false;

 private:
  int told_ = 0;
  std::function<void()> wake_;
};

struct Fixture {
  Fixture() {
    router.add(Method::get, "/events", {.is_public = true}, [this](Request&, const Reply& reply) {
      reply.send(event_stream_response(source));
      weak = source;
      numbers = source.get();
      source.reset();  // the connection's alone
    });
    router.add(Method::get, "/own", {}, [this](Request&, const Reply& reply) {
      reply.send(event_stream_response(source));
      numbers = source.get();
    });
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    reader = UniqueFd(ends[0]);
    StreamSocket socket(io, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
    socket.non_blocking(true);  // as HttpThread has them
    session = std::make_shared<Session>(host, 1, std::move(socket), std::nullopt);
    session->start();
  }
  ~Fixture() { session->abandon(); }
  void run() {
    io.restart();
    io.poll();
  }
  void request(const std::string& text) {
    REQUIRE(::send(reader.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
    run();
  }
  void open() { request("GET /events HTTP/1.1\r\nHost: x\r\n\r\n"); }
  /// All that has been sent; what had no room before is sent meanwhile.
  std::string read() {
    std::string text;
    std::array<char, 4096> part{};
    while (true) {
      const ssize_t got = ::recv(reader.get(), part.data(), part.size(), MSG_DONTWAIT);
      closed = got == 0;
      if (got <= 0) return text;
      text.append(part.data(), static_cast<std::size_t>(got));
      run();
    }
  }
  void pass(milliseconds time) {
    host.now += time;
    session->check_time();
    run();
  }
  [[nodiscard]] std::uint64_t open_streams() const {
    return metrics.streams_opened.value() - metrics.streams_closed.value();
  }

  boost::asio::io_context io{1};
  Router router;
  TokenBook tokens{Tenant{1, "somebody"}, {}};
  HttpMetrics metrics;
  bool ended = false;
  bool closed = false;
  SessionHost host{.router = router,
                   .tokens = tokens,
                   .limits = {},
                   .ended = [this](std::uint64_t) { ended = true; },
                   .metrics = metrics};
  std::shared_ptr<Numbers> source = std::make_shared<Numbers>();
  std::weak_ptr<Numbers> weak;
  Numbers* numbers = nullptr;  // as long as `weak` has it
  UniqueFd reader;
  std::shared_ptr<Session> session;
};

std::string chunk_of(int number) {
  std::string event;
  std::string chunk;
  append_event(event, {.name = "number", .data = Numbers::text_of(number)});
  append_chunk(chunk, event);
  return chunk;
}

TEST_CASE_FIXTURE(Fixture, "events are chunks, each sent when it comes, and the last one closes") {
  open();
  const std::string head = read();
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(open_streams() == 1);
  numbers->set(1);
  CHECK(read() == chunk_of(1));
  numbers->set(2);
  CHECK(read() == chunk_of(2));
  numbers->end();
  CHECK(read() == "0\r\n\r\n");
  CHECK(closed);
  CHECK(weak.expired());
  CHECK(open_streams() == 0);
  reader.reset();
  run();
  CHECK(ended);
}

TEST_CASE_FIXTURE(Fixture, "a slow reader gets the newest state, and nothing queues up for it") {
  open();
  constexpr int updates = 20'000;
  int takes_when_full = 0;
  for (int i = 1; i <= updates; ++i) {
    numbers->set(i);
    run();
    if (i == updates / 2) takes_when_full = numbers->takes;
  }
  CHECK(numbers->takes == takes_when_full);
  CHECK(takes_when_full < 200);  // a kernel's buffer full of them
  const std::string text = read();
  CHECK(text.ends_with(chunk_of(updates)));
  CHECK(text.size() < 200 * chunk_of(updates).size());
  numbers->end();
  CHECK(read() == "0\r\n\r\n");
}

TEST_CASE_FIXTURE(Fixture, "a reader that takes nothing for too long is given up") {
  open();
  for (int i = 1; i <= 20'000; ++i) numbers->set(i);
  pass(host.limits.write_time - milliseconds(1));
  CHECK_FALSE(ended);
  pass(milliseconds(1));
  CHECK(ended);
  CHECK(weak.expired());
  CHECK(open_streams() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a silent stream gets a comment now and then") {
  open();
  [[maybe_unused]] const std::string head = read();
  pass(host.limits.event_pause - milliseconds(1));
  CHECK(read().empty());
  pass(milliseconds(1));
  CHECK(read() == "e\r\n: still here\n\n\r\n");
  numbers->set(1);
  CHECK(read() == chunk_of(1));
  pass(host.limits.event_pause - milliseconds(1));
  CHECK(read().empty());
  pass(milliseconds(1));
  CHECK(read() == "e\r\n: still here\n\n\r\n");
}

TEST_CASE_FIXTURE(Fixture, "a reader that goes away takes its stream along") {
  open();
  CHECK_FALSE(weak.expired());
  reader.reset();
  run();
  CHECK(weak.expired());
  CHECK(ended);
  CHECK(open_streams() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a reader that goes away while it is slow takes its stream along too") {
  open();
  for (int i = 1; i <= 20'000; ++i) numbers->set(i);
  reader.reset();
  run();
  CHECK(weak.expired());
  CHECK(ended);
  CHECK(open_streams() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a gateway that stops ends its streams, and says so") {
  open();
  numbers->set(1);
  [[maybe_unused]] const std::string before = read();
  host.draining = true;
  session->drain();
  CHECK(read() == "1b\r\n: the gateway is stopping\n\n\r\n0\r\n\r\n");
  CHECK(closed);
  CHECK(weak.expired());
}

TEST_CASE_FIXTURE(Fixture, "a gateway that stops does not wait for a reader that takes nothing") {
  open();
  for (int i = 1; i <= 20'000; ++i) numbers->set(i);
  host.draining = true;
  session->drain();
  pass(milliseconds(999));
  CHECK_FALSE(weak.expired());
  pass(milliseconds(1));
  CHECK(weak.expired());
  CHECK(open_streams() == 0);
}

TEST_CASE_FIXTURE(Fixture, "the head alone is told without a stream") {
  request("HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(read().find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(closed);
  CHECK(weak.expired());
  CHECK(metrics.streams_opened.value() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a reader of HTTP/1.0 gets events without chunks") {
  request("GET /events HTTP/1.0\r\n\r\n");
  CHECK(read().find("Transfer-Encoding") == std::string::npos);
  numbers->set(1);
  CHECK(read() == "event: number\ndata: " + Numbers::text_of(1) + "\n\n");
  numbers->end();
  CHECK(read().empty());
  CHECK(closed);
}

TEST_CASE_FIXTURE(Fixture, "who has logged out hears nothing more") {
  bool logged_in = true;
  host.by_cookie =
      [&](const Request& request) -> std::optional<std::expected<PeerIdentity, Response>> {
    if (request.header(Header::cookie) != "mine") return std::nullopt;
    if (!logged_in) return std::unexpected(Response{});
    return PeerIdentity{Tenant{1, "somebody"}, std::nullopt};
  };
  request("GET /own HTTP/1.1\r\nHost: x\r\nCookie: mine\r\n\r\n");
  CHECK(read().starts_with("HTTP/1.1 200 OK\r\n"));
  numbers->set(1);
  run();
  CHECK(read() == chunk_of(1));
  pass(milliseconds(250));
  CHECK_FALSE(closed);
  logged_in = false;
  SUBCASE("also when nothing happens") { pass(milliseconds(250)); }
  SUBCASE("nor what happens next") {
    numbers->set(2);
    run();
  }
  const std::string rest = read();
  CHECK(rest.find("your session at the page is over") != std::string::npos);
  CHECK(rest.find("event: number") == std::string::npos);
  CHECK(rest.ends_with("0\r\n\r\n"));
  run();
  CHECK(open_streams() == 0);
}

}  // namespace
}  // namespace orchid::gateway
