// How many calls of a function run at once: the gate, those who wait at it, and who is refused.
#include <thread>

#include "gateway_fakes.h"
#include "invocations/async_invocations.h"
#include "invocations/limited_runner.h"
#include "invocations/sync_calls.h"

namespace orchid::gateway {
namespace {

using Kind = ConcurrencyGate::Kind;

std::shared_ptr<FunctionVersion> limited_version(unsigned limit) {
  auto version = make_version("f", 'a');
  version->gate = ConcurrencyGate::create(limit);
  return version;
}

struct GateFixture {
  ConcurrencyGate::Entry enter(Kind kind, int number) {
    return gate->enter(kind, [this, number](ConcurrencyGate::Place place) {
      admitted.push_back(number);
      places.push_back(std::move(place));
    });
  }
  std::vector<int> admitted;
  std::vector<ConcurrencyGate::Place> places;
  std::shared_ptr<ConcurrencyGate> gate = ConcurrencyGate::create(2);
};

struct RunnerFixture {
  void start(const std::string& id, std::chrono::seconds deadline = std::chrono::seconds(60)) {
    limited.start({.invocation = id,
                   .version = version,
                   .accepted = clock.now(),
                   .deadline = clock.now() + deadline},
                  [this, id](CallResult result) { ended[id] = std::move(result); });
  }
  TaskInbox here;
  ManualClock clock;
  FakeRunner runner;
  std::shared_ptr<FunctionVersion> version = limited_version(1);
  std::map<std::string, CallResult> ended;
  LimitedRunner limited{runner, clock, here.poster()};
};

}  // namespace

TEST_CASE_FIXTURE(GateFixture, "places are given up to the limit, then in the order of arrival") {
  auto first = enter(Kind::synchronous, 1);
  auto second = enter(Kind::synchronous, 2);
  REQUIRE(first.place != nullptr);
  REQUIRE(second.place != nullptr);
  CHECK(enter(Kind::synchronous, 3).place == nullptr);
  CHECK(enter(Kind::synchronous, 4).place == nullptr);
  CHECK(admitted.empty());
  first.place.reset();
  CHECK(admitted == std::vector{3});
  second.place.reset();
  CHECK(admitted == std::vector{3, 4});
}

TEST_CASE_FIXTURE(GateFixture, "who waits for an answer goes before who does not") {
  auto first = enter(Kind::synchronous, 1);
  auto second = enter(Kind::synchronous, 2);
  CHECK(enter(Kind::asynchronous, 3).place == nullptr);
  CHECK(enter(Kind::synchronous, 4).place == nullptr);
  first.place.reset();
  second.place.reset();
  CHECK(admitted == std::vector{4, 3});
}

TEST_CASE_FIXTURE(GateFixture, "who has withdrawn is not admitted") {
  auto first = enter(Kind::synchronous, 1);
  auto second = enter(Kind::synchronous, 2);
  const auto third = enter(Kind::synchronous, 3);
  CHECK(enter(Kind::synchronous, 4).place == nullptr);
  gate->withdraw(third.ticket);
  first.place.reset();
  CHECK(admitted == std::vector{4});
}

TEST_CASE_FIXTURE(GateFixture, "a higher limit admits at once, a lower one as calls end") {
  auto first = enter(Kind::synchronous, 1);
  auto second = enter(Kind::synchronous, 2);
  CHECK(enter(Kind::synchronous, 3).place == nullptr);
  gate->set_limit(3);
  CHECK(admitted == std::vector{3});
  gate->set_limit(1);
  CHECK(enter(Kind::synchronous, 4).place == nullptr);
  first.place.reset();
  second.place.reset();
  CHECK(admitted == std::vector{3});
  std::exchange(places, {}).clear();  // the next one is admitted meanwhile
  CHECK(admitted == std::vector{3, 4});
  CHECK(enter(Kind::synchronous, 5).place == nullptr);
  gate->set_limit(0);
  CHECK(admitted == std::vector{3, 4, 5});
}

TEST_CASE_FIXTURE(GateFixture, "it is crowded when sixteen callers wait for each place") {
  auto first = enter(Kind::synchronous, 1);
  auto second = enter(Kind::synchronous, 2);
  for (int i = 0; i < 100; ++i) CHECK(enter(Kind::asynchronous, 3).place == nullptr);
  for (int i = 0; i < 31; ++i) CHECK(enter(Kind::synchronous, 4).place == nullptr);
  CHECK_FALSE(gate->is_crowded());
  CHECK(enter(Kind::synchronous, 5).place == nullptr);
  CHECK(gate->is_crowded());
  gate->set_limit(0);
  CHECK_FALSE(gate->is_crowded());
}

TEST_CASE("never more than the limit are inside, however many threads come") {
  const auto gate = ConcurrencyGate::create(3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> served{0};
  constexpr int calls_per_thread = 2000;
  const auto visit = [&](const ConcurrencyGate::Place&) {
    const int now = ++inside;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    --inside;
    ++served;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < calls_per_thread; ++i) {
        // A place that is handed on is given back on the thread that made room.
        auto entry = gate->enter(Kind::synchronous, visit);
        if (entry.place != nullptr) visit(entry.place);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(served == 4 * calls_per_thread);
  CHECK(most <= 3);
}

TEST_CASE_FIXTURE(RunnerFixture, "a call over the limit starts when another one has ended") {
  start("a");
  start("b");
  start("c");
  CHECK(runner.order == std::vector<std::string>{"a"});
  CHECK(limited.waiting() == 2);
  runner.end("a", ok_result("x"));
  CHECK(runner.order.size() == 1);  // on its own thread, not on whichever made room
  here.run_all();
  CHECK(runner.order == std::vector<std::string>{"a", "b"});
  runner.end("b", ok_result("x"));
  here.run_all();
  runner.end("c", ok_result("x"));
  CHECK(ended.size() == 3);
  start("d");
  CHECK(runner.running.contains("d"));
}

TEST_CASE_FIXTURE(RunnerFixture, "calls without a limit go straight on") {
  version->gate->set_limit(0);
  for (const char* id : {"a", "b", "c"}) start(id);
  version->gate = nullptr;
  start("d");
  CHECK(runner.running.size() == 4);
  CHECK(limited.waiting() == 0);
}

TEST_CASE_FIXTURE(RunnerFixture, "a waiting call ends by its deadline, and never runs") {
  start("a");
  start("b", std::chrono::seconds(2));
  start("c");
  limited.sweep();
  CHECK(ended.empty());
  clock.advance(std::chrono::seconds(2));
  limited.sweep();
  REQUIRE(ended.contains("b"));
  CHECK(ended["b"].outcome == Outcome::deadline_exceeded);
  CHECK(ended["b"].timings.queue == std::chrono::seconds(2));
  runner.end("a", ok_result("x"));
  here.run_all();
  CHECK(runner.order == std::vector<std::string>{"a", "c"});
}

TEST_CASE_FIXTURE(RunnerFixture,
                  "a waiting call can be cancelled, a running one is cancelled there") {
  start("a");
  start("b");
  limited.cancel("b");
  REQUIRE(ended.contains("b"));
  CHECK(ended["b"].outcome == Outcome::cancelled);
  limited.cancel("a");
  CHECK(runner.cancelled == std::vector<std::string>{"a"});
}

TEST_CASE_FIXTURE(RunnerFixture,
                  "one that is cancelled while its admission is under way gives the place on") {
  start("a");
  start("b");
  start("c");
  runner.end("a", ok_result("x"));  // b's admission is posted
  limited.cancel("b");
  here.run_all();
  CHECK(runner.order == std::vector<std::string>{"a", "c"});
}

TEST_CASE_FIXTURE(RunnerFixture,
                  "at the end all that wait are cancelled, and nothing waits any more") {
  start("a");
  start("b");
  limited.stop();
  CHECK(ended["b"].outcome == Outcome::cancelled);
  start("c");
  CHECK(runner.running.contains("c"));
}

TEST_CASE_FIXTURE(RunnerFixture,
                  "when too many wait, the next synchronous call is refused with `quota`") {
  TemporaryDirectory directory;
  auto store = Store::open(directory.path()).value();
  store->start();
  TaskInbox control;
  AsyncInvocations async{{*store,
                          clock,
                          control.poster(),
                          {{here.poster(), &limited}},
                          [](const auto&) { return true; }},
                         {}};
  SyncCalls calls{{limited, async, clock, here.poster(), control.poster()},
                  {.home = 1, .in_flight = 100, .recent = {.capacity = 4}}};
  const auto call = [&] {
    return calls.start({.tenant = 1,
                        .version = version,
                        .entry = 0,
                        .input = {},
                        .deadline = clock.now() + std::chrono::seconds(60),
                        .wait_until = clock.now() + std::chrono::seconds(60),
                        .at_most_once = false},
                       [](const SyncAnswer&) {});
  };
  for (std::size_t i = 0; i < 1 + ConcurrencyGate::waiting_per_place; ++i)
    REQUIRE(call().has_value());
  const auto refused = call();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::quota);
  runner.end(runner.order.front(), ok_result("x"));
  here.run_all();
  CHECK(call().has_value());
  limited.stop();
}

TEST_CASE_FIXTURE(RunnerFixture,
                  "asynchronous invocations over the limit wait aside, and others pass them") {
  TemporaryDirectory directory;
  auto store = Store::open(directory.path()).value();
  store->start();
  TaskInbox control;
  AsyncInvocations async{
      {*store,
       clock,
       control.poster(),
       {{here.poster(), &limited}},
       [](const auto&) { return true; }},
      {.limits = {.running_per_runner = 2}, .keep_finished = std::chrono::hours(1)}};
  std::vector<std::string> accepted;
  const auto submit = [&](const std::shared_ptr<const FunctionVersion>& which) {
    async.submit({.tenant = 1,
                  .version = which,
                  .entry = 0,
                  .idempotency_key = std::nullopt,
                  .reference = "f",
                  .at_most_once = false,
                  .accepted = clock.wall_ms(),
                  .deadline = clock.wall_ms() + 60'000,
                  .input = {}},
                 [&](Result<InsertedInvocation> inserted) {
                   REQUIRE(inserted.has_value());
                   accepted.push_back(inserted->record.id);
                 });
    const std::size_t before = accepted.size();
    control.run_until([&] {
      here.run_all();
      return accepted.size() > before;
    });
  };
  const auto running = [&](std::size_t index) {
    control.run_until([&] {
      here.run_all();
      return runner.running.contains(accepted.at(index));
    });
  };
  for (int i = 0; i < 4; ++i) submit(version);
  running(0);
  // Three wait, but not in the way of another function.
  submit(make_version("g", 'b'));
  running(4);
  CHECK(runner.order.size() == 2);
  CHECK(async.queued_count() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    runner.end(accepted[i], ok_result("x"));
    running(i + 1);
  }
  CHECK(runner.order.size() == 5);
  async.stop();
}

}  // namespace orchid::gateway
