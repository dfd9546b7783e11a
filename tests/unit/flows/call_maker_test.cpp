// Calls of flows through a gateway that answers at once, later, or not well.
#include "call_maker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fake_gateway.h"

namespace orchid::flows {
namespace {

using namespace std::chrono_literals;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr std::size_t most = 4;

/// What makes calls, and what has come of them.
class Maker {
 public:
  explicit Maker(FakeGateway::Handler handler)
      : gateway(std::move(handler)),
        way_{.gateway = gateway.address()},
        client_(way_),
        calls_(std::in_place, CallMaker::Parts{client_, arrivals_, way_}, most) {}

  CallMaker& calls() { return *calls_; }
  void start(std::uint64_t number, const std::string& flow = "fl-1") {
    calls_->start({.flow = flow, .number = number, .function = "f", .signature = {}, .input = {}});
  }
  /// The next, within 20 seconds.
  CallEnded next() {
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (ended_.empty() && std::chrono::steady_clock::now() < give_up)
      for (Arrival& arrival : arrivals_.take(100ms))
        if (auto* end = std::get_if<CallEnded>(&arrival)) ended_.push_back(std::move(*end));
    REQUIRE_MESSAGE(!ended_.empty(), "no call has ended");
    CallEnded end = std::move(ended_.front());
    ended_.pop_front();
    return end;
  }
  /// All that has come by the time that nothing can come any more.
  std::size_t count_after_the_end() {
    calls_.reset();
    return ended_.size() + arrivals_.take(0ms).size();
  }
  /// How often each key was sent with a call.
  std::map<std::string, int> keys() const {
    std::map<std::string, int> keys;
    for (const FakeRequest& request : gateway.requests())
      if (request.method == "POST") ++keys[request.header("idempotency-key")];
    return keys;
  }

  FakeGateway gateway;

 private:
  ClientOptions way_;
  Client client_;
  Arrivals arrivals_;
  std::deque<CallEnded> ended_;
  std::optional<CallMaker> calls_;
};

std::string text_of(const CallEnded& end) {
  const auto& output = std::get<flow::Answered>(end.event).output;
  return {reinterpret_cast<const char*>(output.data()), output.size()};
}

FakeAnswer accepted() {
  return {.status = 202,
          .body = R"({"id":"i-1","state":"running"})",
          .headers = {"Location: /v1/invocations/i-1"}};
}

}  // namespace

TEST_CASE("calls that end at once are asked for once each, however many there are") {
  Maker maker([](const FakeRequest& request) {
    return FakeAnswer{.body = request.header("idempotency-key"),
                      .headers = {"Server-Timing: run;dur=2", "Orchid-Node: n1"}};
  });
  constexpr std::uint64_t many = 300;
  for (std::uint64_t i = 0; i < many; ++i) maker.start(i);
  std::map<std::uint64_t, std::string> answers;
  for (std::uint64_t i = 0; i < many; ++i) {
    const CallEnded end = maker.next();
    CHECK(end.flow == "fl-1");
    CHECK(std::get<flow::Answered>(end.event).run_time == 2ms);
    CHECK(std::get<flow::Answered>(end.event).host == "n1");
    answers[std::get<flow::Answered>(end.event).call.number] = text_of(end);
  }
  REQUIRE(answers.size() == many);
  for (const auto& [number, answer] : answers) CHECK(answer == "fl-1-" + std::to_string(number));
  for (const auto& [key, times] : maker.keys()) CHECK(times == 1);
  std::set<std::size_t> connections;
  for (const FakeRequest& request : maker.gateway.requests())
    connections.insert(request.connection);
  CHECK(connections.size() <= most);
}

TEST_CASE("a call that fails is asked for again under its key, and told as it is") {
  Maker maker([](const FakeRequest&) {
    return FakeAnswer{.status = 502, .body = R"({"detail":"no","outcome":"function_error"})"};
  });
  maker.start(7);
  const CallEnded end = maker.next();
  const auto& failed = std::get<flow::CallFailed>(end.event);
  CHECK(failed.call.number == 7);
  CHECK(failed.outcome == "function_error");
  CHECK(maker.keys() == std::map<std::string, int>{{"fl-1-7", 2}});
}

TEST_CASE("a call that gets no answer is asked for until it has one") {
  std::atomic<int> asked{0};
  Maker maker([&](const FakeRequest&) {
    return ++asked <= 3 ? FakeAnswer{.hang_up = true} : FakeAnswer{.body = "out"};
  });
  maker.start(1);
  CHECK(text_of(maker.next()) == "out");
  CHECK(maker.keys().size() == 1);
}

TEST_CASE("a call that lasts is waited for, and room for others is free when it is stopped") {
  std::atomic<bool> cancelled{false};
  Maker maker([&](const FakeRequest& request) {
    if (request.method == "DELETE") {
      cancelled = true;
      return FakeAnswer{.status = 202, .body = R"({"id":"i-1","cancelling":true})"};
    }
    if (request.method == "GET" || request.target.find("/slow/") == std::string::npos)
      return FakeAnswer{
          .status = cancelled && request.method == "GET" ? 404 : 200,
          .body = request.method == "GET" ? R"({"id":"i-1","state":"running"})" : "out"};
    return accepted();
  });
  for (std::uint64_t i = 0; i < most; ++i)
    maker.calls().start(
        {.flow = "fl-1", .number = i, .function = "slow", .signature = {}, .input = {}});
  maker.start(9, "fl-2");  // there is no room for it yet
  for (std::uint64_t i = 0; i < most; ++i) maker.calls().stop("fl-1", i);
  CHECK(maker.next().flow == "fl-2");
  CHECK(maker.count_after_the_end() == 0);
  CHECK(cancelled);
}

TEST_CASE("nobody hears of a call that was forgotten, unless it was started again") {
  std::atomic<bool> open{false};
  Maker maker([&](const FakeRequest&) { return open ? FakeAnswer{.body = "out"} : accepted(); });
  maker.start(1);
  maker.start(2);
  maker.calls().forget("fl-1");
  open = true;
  maker.start(2);
  CHECK(std::get<flow::Answered>(maker.next().event).call.number == 2);
  CHECK(maker.count_after_the_end() == 0);
}

TEST_CASE("a call begins at once beside one that pauses until there is room for it") {
  std::mutex mutex;
  std::set<std::string> asked;
  Maker maker([&](const FakeRequest& request) {
    const std::lock_guard lock(mutex);
    // Each is refused once: so a thread has it.
    const bool is_first = asked.insert(request.header("idempotency-key")).second;
    if (!is_first && request.target.find("/full/") == std::string::npos)
      return FakeAnswer{.body = "out"};
    return FakeAnswer{.status = 503, .body = R"({"code":"no_capacity","detail":"no room"})"};
  });
  maker.calls().start(
      {.flow = "fl-2", .number = 1, .function = "full", .signature = {}, .input = {}});
  // They are taken by threads that have none, though the one that pauses has waited for longer.
  for (std::uint64_t number = 0; number < 100; ++number) {
    maker.start(number);
    REQUIRE(std::get<flow::Answered>(maker.next().event).call.number == number);
  }
  maker.calls().stop("fl-2", 1);
  CHECK(maker.count_after_the_end() == 0);
}

}  // namespace orchid::flows
