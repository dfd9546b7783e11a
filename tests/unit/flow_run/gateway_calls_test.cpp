// Calls through a gateway that loses some from sight.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "fake_gateway.h"
#include "flow/checker.h"
#include "flow_run/flow_calls.h"

namespace orchid::flow {
namespace {

using namespace std::chrono_literals;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

Plan plan_of_one(const std::string& more = "") {
  const Parsed parsed = parse_document(
      "flow: one\nfunctions: {f: bytes}\ninputs: {text: bytes}\n"
      "nodes: {a: {kind: call, function: f" +
          more + "}}\nedges: [{from: text, to: a}]\noutputs: {r: a}\n",
      "");
  REQUIRE(parsed.faults.empty());
  Checked checked = check(parsed.document, {});
  REQUIRE(checked.faults.empty());
  return std::move(checked.plan);
}

StartCall call_of(const Plan& plan, std::uint64_t number, unsigned attempt = 1) {
  return {.call = {.run = 0, .number = number},
          .node = 0,
          .work = {.node = 0},
          .attempt = attempt,
          .function = &plan.nodes[0].main,
          .input = {}};
}

/// The events of an inbox, one by one; each within 20 seconds.
class Events {
 public:
  explicit Events(FlowInbox& inbox) : inbox_(inbox) {}
  Event next() {
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (events_.empty() && std::chrono::steady_clock::now() < give_up)
      std::ranges::move(inbox_.take(100ms).events, std::back_inserter(events_));
    REQUIRE_MESSAGE(!events_.empty(), "no event came");
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  FlowInbox& inbox_;
  std::deque<Event> events_;
};

bool is_call(const FakeRequest& request) { return request.method == "POST"; }

std::vector<FakeRequest> calls_of(const FakeGateway& gateway) {
  std::vector<FakeRequest> calls = gateway.requests();
  std::erase_if(calls, [](const FakeRequest& request) { return !is_call(request); });
  return calls;
}

}  // namespace

TEST_CASE("a call that is lost from sight is looked for under the key that it had") {
  std::atomic<int> asked{0};
  FakeGateway gateway([&](const FakeRequest&) {
    return ++asked == 1 ? FakeAnswer{.status = 504, .body = R"({"detail":"late"})"}
                        : FakeAnswer{.body = "out", .headers = {"Orchid-Node: n1"}};
  });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_of_one();
  const auto inbox = std::make_shared<FlowInbox>();
  Events events(*inbox);
  const auto calls = calls_by_gateway(client, plan, {.threads = 1, .key = "run"}, inbox);
  calls->start(call_of(plan, 1), plan.nodes[0]);
  const Event first = events.next();
  REQUIRE(std::holds_alternative<CallFailed>(first));
  const std::string outcome = std::get<CallFailed>(first).outcome;
  calls->start(call_of(plan, 2, 2), plan.nodes[0]);
  const Event second = events.next();
  REQUIRE(std::holds_alternative<Answered>(second));
  CHECK(std::get<Answered>(second).host == "n1");
  const auto made = calls_of(gateway);
  REQUIRE(made.size() == 2);
  CHECK(made[0].header("idempotency-key").starts_with("run-0-"));
  const bool same = made[0].header("idempotency-key") == made[1].header("idempotency-key");
  CHECK_MESSAGE(same == (outcome == "timed_out" || outcome == "unreachable"), outcome);
}

TEST_CASE("an attempt after a failure that was seen is another call") {
  std::atomic<int> asked{0};
  FakeGateway gateway([&](const FakeRequest&) {
    return ++asked == 1
               ? FakeAnswer{.status = 502, .body = R"({"detail":"no","outcome":"function_error"})"}
               : FakeAnswer{.body = "out"};
  });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_of_one();
  const auto inbox = std::make_shared<FlowInbox>();
  Events events(*inbox);
  const auto calls = calls_by_gateway(client, plan, {.threads = 1, .key = "run"}, inbox);
  calls->start(call_of(plan, 1), plan.nodes[0]);
  CHECK(std::holds_alternative<CallFailed>(events.next()));
  calls->start(call_of(plan, 2, 2), plan.nodes[0]);
  CHECK(std::holds_alternative<Answered>(events.next()));
  const auto made = calls_of(gateway);
  REQUIRE(made.size() == 2);
  CHECK(made[0].header("idempotency-key") != made[1].header("idempotency-key"));
}

TEST_CASE("a gateway that is away for a moment is waited for, with one key") {
  std::atomic<int> asked{0};
  FakeGateway gateway([&](const FakeRequest&) {
    return ++asked <= 2 ? FakeAnswer{.hang_up = true} : FakeAnswer{.body = "out"};
  });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_of_one(", retry: {attempts: 1}");
  const auto inbox = std::make_shared<FlowInbox>();
  Events events(*inbox);
  const auto calls = calls_by_gateway(client, plan, {.threads = 1, .key = "run"}, inbox);
  calls->start(call_of(plan, 1), plan.nodes[0]);
  CHECK(std::holds_alternative<Answered>(events.next()));
  std::set<std::string> keys;
  for (const FakeRequest& request : calls_of(gateway)) {
    keys.insert(request.header("idempotency-key"));
    CHECK(request.header("orchid-at-most-once") == "true");
  }
  CHECK(keys.size() == 1);
}

TEST_CASE("work in the same place with another input is another call") {
  const Plan plan = plan_of_one();
  StartCall call = call_of(plan, 1);
  const std::string key = idempotency_key("run", call, "f@0123456789abcdef01");
  CHECK(key == idempotency_key("run", call, "f@0123456789abcdef01"));
  call.input.push_back(std::byte{1});
  CHECK(key != idempotency_key("run", call, "f@0123456789abcdef01"));
}

TEST_CASE("a call that an earlier run has left cancelled is made once more, under another key") {
  constexpr auto cancelled = R"({"detail":"cancelled","outcome":"cancelled"})";
  for (const int of_earlier_runs : {1, 2}) {
    std::atomic<int> asked{0};
    FakeGateway gateway([&](const FakeRequest&) {
      return ++asked <= of_earlier_runs ? FakeAnswer{.status = 409,
                                                     .body = cancelled,
                                                     .headers = {"Orchid-Outcome: cancelled"}}
                                        : FakeAnswer{.body = "out"};
    });
    Client client({.gateway = gateway.address()});
    const Plan plan = plan_of_one();
    const auto inbox = std::make_shared<FlowInbox>();
    Events events(*inbox);
    const auto calls = calls_by_gateway(client, plan, {.threads = 1, .key = "run"}, inbox);
    calls->start(call_of(plan, 1), plan.nodes[0]);
    const Event event = events.next();
    if (of_earlier_runs == 1) {
      CHECK(std::holds_alternative<Answered>(event));
    } else {  // somebody cancels it on purpose
      REQUIRE(std::holds_alternative<CallFailed>(event));
      CHECK(std::get<CallFailed>(event).outcome == "cancelled");
    }
    const auto made = calls_of(gateway);
    REQUIRE(made.size() == 2);
    CHECK(made[0].header("idempotency-key") != made[1].header("idempotency-key"));
  }
}

TEST_CASE("without a deadline of its own a call may wait for long, and be started again") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = "out"}; });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_of_one();
  const auto inbox = std::make_shared<FlowInbox>();
  Events events(*inbox);
  const auto calls = calls_by_gateway(client, plan, {.threads = 1}, inbox);
  calls->start(call_of(plan, 1), plan.nodes[0]);
  CHECK(std::holds_alternative<Answered>(events.next()));
  const auto made = calls_of(gateway);
  REQUIRE(made.size() == 1);
  CHECK(made[0].header("orchid-deadline-ms") == "86400000");
  CHECK(made[0].header("orchid-at-most-once").empty());
}

TEST_CASE("a call that waits for a core begins when one is found, though none has ended") {
  // The fake serves one request at a time: so calls are answered "accepted". The first one runs
  // until the second has come.
  std::mutex mutex;
  std::size_t number = 0;  // under the mutex, as the next one
  std::size_t looks = 0;
  FakeGateway gateway([&](const FakeRequest& request) -> FakeAnswer {
    const std::lock_guard lock(mutex);
    if (request.target == "/v1/hosts")
      return {.body = ++looks == 1 ? R"({"hosts":[{"cores":1,"cores_leased":0}]})"
                                   : R"({"hosts":[{"cores":2,"cores_leased":1}]})"};
    if (is_call(request))
      return {.status = 202,
              .body = R"({"id":"i-)" + std::to_string(++number) + R"(","state":"running"})"};
    if (request.target.ends_with("/output")) return {.body = "out"};
    const std::string id = request.target.substr(request.target.find("i-"), 3);
    if (number < 2) return {.body = R"({"id":")" + id + R"(","function":"f","state":"running"})"};
    return {.body = R"({"id":")" + id + R"(","function":"f","state":"done","outcome":"ok"})"};
  });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_of_one(", deadline: 60s");
  const auto inbox = std::make_shared<FlowInbox>();
  Events events(*inbox);
  const auto calls = calls_by_gateway(client, plan, {.threads = 2}, inbox);
  for (std::uint64_t i = 0; i < 2; ++i) {
    StartCall call = call_of(plan, i);
    call.work.index = i;
    calls->start(call, plan.nodes[0]);
  }
  CHECK(std::holds_alternative<Answered>(events.next()));
  CHECK(std::holds_alternative<Answered>(events.next()));
}

/// How many of six calls with a deadline run side by side at most. A call ends when it is asked
/// for; the fake serves one request at a time, so that calls are answered "accepted" first.
std::size_t most_at_once(const std::string& node, const std::string& hosts) {
  std::mutex mutex;
  std::set<std::string> running;  // under the mutex, as the next two
  std::size_t most = 0;
  std::size_t number = 0;
  FakeGateway gateway([&](const FakeRequest& request) -> FakeAnswer {
    const std::lock_guard lock(mutex);
    if (request.target == "/v1/hosts") return {.body = hosts};
    if (is_call(request)) {
      const std::string id = "i-" + std::to_string(++number);
      running.insert(id);
      most = std::max(most, running.size());
      return {.status = 202, .body = R"({"id":")" + id + R"(","state":"running"})"};
    }
    const std::size_t from = request.target.find("i-");
    const std::string id =
        request.target.substr(from, request.target.find_first_of("/?", from) - from);
    if (request.target.ends_with("/output")) return {.body = "out"};
    running.erase(id);
    return {.body = R"({"id":")" + id + R"(","function":"f","state":"done","outcome":"ok"})"};
  });
  Client client({.gateway = gateway.address()});
  const Plan plan = plan_of_one(", deadline: 50s" + node);
  const auto inbox = std::make_shared<FlowInbox>();
  Events events(*inbox);
  const auto calls = calls_by_gateway(client, plan, {.threads = 8}, inbox);
  for (std::uint64_t i = 0; i < 6; ++i) {
    StartCall call = call_of(plan, i);
    call.work.index = i;
    calls->start(call, plan.nodes[0]);
  }
  for (int i = 0; i < 6; ++i) {
    const Event event = events.next();
    if (const auto* failed = std::get_if<CallFailed>(&event)) FAIL_CHECK(failed->message);
  }
  const std::lock_guard lock(mutex);
  CHECK(calls_of(gateway).front().header("orchid-deadline-ms") == "50000");
  return most;
}

TEST_CASE("no more calls with a deadline are handed over than there are cores for") {
  CHECK(most_at_once("", R"({"hosts":[{"cores":2,"cores_leased":1}]})") == 1);
}

TEST_CASE("for calls that name a cluster its cores count, and not free ones of another cluster") {
  const std::string hosts =
      R"({"hosts":[{"cluster":"fern","cores":9},{"cluster":"moss","cores":2,"cores_leased":1}]})";
  CHECK(most_at_once(", constraints: {cluster: moss}", hosts) == 1);
}

}  // namespace orchid::flow
