// Places at executors that keep a worker for each module.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "dispatch_fakes.h"
#include "dispatcher/dispatcher.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Answer;
using test::Bench;
using test::FakeWorker;

/// One call after the other, each to its end.
std::string run(Bench& bench, const std::string& name, const std::string& input) {
  const auto answer = bench.call(name, input);
  bench.settle();
  FakeWorker* worker = bench.worker_of(name);
  REQUIRE(worker != nullptr);
  CHECK(worker->run_all() == 1);
  bench.settle();
  REQUIRE(answer->done);
  return answer->output();
}

std::size_t workers_there(const Bench& bench) {
  std::size_t there = 0;
  for (const auto& worker : bench.executor.workers) there += worker->closed ? 0 : 1;
  return there;
}

std::string module_name(int number) { return "f" + std::to_string(number); }

}  // namespace

TEST_CASE("two functions in turn run in two workers of one lease, and both are kept") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (const char* round : {"1", "2", "3"}) {
    CHECK(run(bench, "f", round) == round);
    CHECK(run(bench, "g", round) == round);
  }
  CHECK(bench.executor.workers.size() == 2);
  CHECK(bench.worker_of("f") != bench.worker_of("g"));
  CHECK(bench.dispatcher->workers() == 1);
  for (const auto& worker : bench.executor.workers) {
    CHECK(worker->count<LaneAnnounce>() == 1);
    REQUIRE(std::holds_alternative<LaneClaim>(worker->heard.at(0)));
    CHECK(std::get<LaneClaim>(worker->heard.at(0)).protocol == apart_lane_protocol);
  }
}

TEST_CASE("an older executor's worker is shared by all functions") {
  Bench bench;
  bench.grant();
  bench.settle();
  CHECK(run(bench, "f", "a") == "a");
  CHECK(run(bench, "g", "b") == "b");
  CHECK(bench.executor.workers.size() == 1);
  CHECK(std::get<LaneClaim>(bench.executor.workers.at(0)->heard.at(0)).protocol ==
        shared_lane_protocol);
}

TEST_CASE("nothing is sent to one worker of a place while another one runs") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (const char* name : {"f", "g"}) run(bench, name, "warm-up");
  const auto first = bench.call("f", "a");
  const auto second = bench.call("g", "b");
  bench.settle();
  FakeWorker& f = *bench.worker_of("f");
  FakeWorker& g = *bench.worker_of("g");
  CHECK(f.take() == "a");
  CHECK_FALSE(g.take().has_value());
  f.answer({.output = "A"});
  bench.settle();
  CHECK(first->output() == "A");
  CHECK(g.run_all() == 1);
  bench.settle();
  CHECK(second->output() == "b");
}

TEST_CASE("the ninth module takes the place of the one that ran longest ago") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (int i = 0; i < 8; ++i) run(bench, module_name(i), "x");
  CHECK(workers_there(bench) == 8);
  bench.clock.advance(milliseconds(1));
  run(bench, "f0", "x");
  run(bench, "f8", "x");
  bench.settle();
  CHECK(workers_there(bench) == 8);
  CHECK(bench.worker_of("f0") != nullptr);
  CHECK(bench.worker_of("f1") == nullptr);
  CHECK(run(bench, "f1", "again") == "again");
  CHECK(bench.supply.returned.empty());
}

TEST_CASE("a worker that dies takes no other function's worker along") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (const char* name : {"f", "g"}) run(bench, name, "warm-up");
  const auto crashing = bench.call("f", "a");
  bench.settle();
  FakeWorker& f = *bench.worker_of("f");
  CHECK(f.take() == "a");
  f.say(LaneEnded{.request = f.taken_request,
                  .outcome = Outcome::function_crashed,
                  .message = "it crashed",
                  .started = true});
  bench.settle();
  CHECK(crashing->result.outcome == Outcome::function_crashed);
  CHECK(run(bench, "g", "b") == "b");
  CHECK(bench.worker_of("g")->count<LaneAnnounce>() == 1);
  f.claim();
  bench.settle();
  CHECK(run(bench, "f", "c") == "c");
  CHECK(bench.executor.workers.size() == 2);
}

TEST_CASE("a worker that gave way is claimed anew for its next call; the lease stays") {
  Bench bench;
  const LeaseId lease = bench.grant_apart();
  bench.settle();
  for (const char* name : {"f", "g"}) run(bench, name, "warm-up");
  FakeWorker& f = *bench.worker_of("f");
  f.say(LaneEnded{.outcome = Outcome::worker_lost, .message = "it gave way"});
  f.socket.reset();
  f.closed = true;
  bench.settle();
  CHECK(run(bench, "f", "a") == "a");
  CHECK(run(bench, "g", "b") == "b");
  CHECK(bench.executor.workers.size() == 3);
  bench.advance(milliseconds(200));
  CHECK(bench.supply.returned.empty());
  bench.dispatcher->lease_ended(lease);
  bench.settle();
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(workers_there(bench) == 0);
}

TEST_CASE("a place that is evicted takes no new worker, and its calls run elsewhere") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (const char* name : {"f", "g"}) run(bench, name, "warm-up");
  const auto answer = bench.call("f", "a");
  bench.settle();
  FakeWorker* f = bench.worker_of("f");
  CHECK(f->take() == "a");
  f->say(LaneEnded{.request = f->taken_request, .outcome = Outcome::evicted, .started = true});
  bench.settle();
  CHECK(bench.executor.workers.size() == 2);
  for (const auto& worker : bench.executor.workers) {
    worker->socket.reset();
    worker->closed = true;
  }
  bench.settle();
  CHECK(bench.dispatcher->workers() == 0);
  bench.grant_apart();
  bench.settle();
  CHECK(bench.worker_of("f")->run_all() == 1);
  bench.settle();
  CHECK(answer->result.outcome == Outcome::ok);
}

TEST_CASE("short calls of one function do not keep those of another waiting for long") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (int i = 0; i < 3; ++i)
    for (const char* name : {"f", "g"}) run(bench, name, "warm-up");
  bench.call("f", "1");
  const auto waits = bench.call("g", "b");
  bench.call("f", "2");
  FakeWorker& f = *bench.worker_of("f");
  CHECK(f.take() == "1");
  bench.clock.advance(milliseconds(2));
  bench.call("f", "3");  // not sent behind the others any more
  f.answer({});
  CHECK(f.take() == "2");
  f.answer({});
  CHECK_FALSE(f.take().has_value());
  bench.settle();
  CHECK(bench.worker_of("g")->run_all() == 1);
  bench.settle();
  CHECK(waits->done);
  CHECK(f.run_all() == 1);
}

TEST_CASE("a module whose code is on its way keeps nobody else waiting") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  for (int i = 0; i < 3; ++i) run(bench, "short", "warm-up");
  bench.executor.loads = false;
  const auto slow = bench.call("slow", "a");
  bench.settle();
  bench.executor.loads = true;
  CHECK(run(bench, "new", "b") == "b");  // not known as short
  bench.clock.advance(milliseconds(20));
  bench.call("short", "1");
  const auto waits = bench.call("new", "c");
  bench.call("short", "2");
  FakeWorker& busy = *bench.worker_of("short");
  CHECK(busy.take() == "1");
  bench.clock.advance(milliseconds(20));
  bench.call("short", "3");  // lets the call of the loaded module go first
  busy.answer({});
  CHECK(busy.take() == "2");
  busy.answer({});
  CHECK_FALSE(busy.take().has_value());
  bench.settle();
  CHECK(bench.worker_of("new")->run_all() == 1);
  bench.settle();
  CHECK(waits->done);
  CHECK_FALSE(slow->done);
}

TEST_CASE(
    "a worker that ends without a call is not made ready again, and its place is given back") {
  Bench bench({.id = HolderId(1), .give_back_after = seconds(10)});
  bench.grant_apart();
  bench.settle();
  run(bench, "f", "x");
  FakeWorker& f = *bench.worker_of("f");
  for (int i = 0; i < 12 && !f.closed; ++i) {
    f.say(LaneEnded{.outcome = Outcome::function_crashed, .message = "it used processor time"});
    f.claim();
    bench.settle();
    bench.advance(seconds(1));
  }
  CHECK(f.count<LaneAnnounce>() == 2);  // once for the worker whose predecessor had been called
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(bench.supply.returned.size() == 1);
}

TEST_CASE("claims that are refused do not end a call that runs at the place") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  run(bench, "f", "warm-up");
  const auto running = bench.call("f", "a");
  bench.settle();
  FakeWorker& f = *bench.worker_of("f");
  CHECK(f.take() == "a");
  bench.executor.answers_claims = false;
  for (int i = 0; i < 5; ++i) {
    bench.call("g" + std::to_string(i), "b");
    bench.settle();
    if (FakeWorker& last = *bench.executor.workers.back(); &last != &f && !last.closed) {
      last.say(LaneRefused{ErrorCode::no_capacity, "no room"});
      last.socket.reset();
      last.closed = true;
    }
    bench.settle();
    bench.advance(milliseconds(150));
  }
  f.answer({.output = "A"});
  bench.settle();
  REQUIRE(running->done);
  CHECK(running->output() == "A");
}

TEST_CASE("a worker that is claimed for a module is told how long its calls wait") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  run(bench, "f", "warm-up");
  bench.call("g", "b", {.deadline = seconds(5)});
  bench.settle();
  const FakeWorker& g = *bench.worker_of("g");
  CHECK(g.count<LaneAnnounce>() == 1);
  for (const LaneMessage& message : g.heard)
    if (const auto* announced = std::get_if<LaneAnnounce>(&message))
      CHECK(announced->time_left == seconds(5));
}

TEST_CASE("a module that could not be loaded is not announced again before it is called") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  run(bench, "f", "warm-up");
  bench.executor.rejects =
      LaneRejected{.code = ErrorCode::module_rejected, .message = "the deadline passed"};
  const auto refused = bench.call("g", "b");
  bench.settle();
  REQUIRE(refused->done);
  FakeWorker& g = *bench.worker_of("g");
  bench.executor.rejects.reset();
  g.say(LaneEnded{.outcome = Outcome::worker_lost, .message = "its load was ended"});
  g.claim();
  bench.settle();
  CHECK(g.count<LaneAnnounce>() == 1);
  CHECK(run(bench, "g", "again") == "again");
  CHECK(g.count<LaneAnnounce>() == 2);
  CHECK(bench.executor.workers.size() == 2);
}

TEST_CASE("claims that are refused one after the other end the place") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  run(bench, "f", "warm-up");
  bench.executor.answers_claims = false;
  const auto answer = bench.call("g", "b");
  for (int i = 0; i < 3; ++i) {
    bench.settle();
    REQUIRE(bench.dispatcher->workers() == 1);
    FakeWorker& refused = *bench.executor.workers.back();
    REQUIRE(refused.count<LaneClaim>() == 1);
    refused.say(LaneRefused{ErrorCode::no_capacity, "no room"});
    refused.socket.reset();
    refused.closed = true;
    bench.settle();
    bench.advance(milliseconds(150));
  }
  bench.advance(milliseconds(150));
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(bench.supply.returned.size() == 1);
  bench.executor.answers_claims = true;
  bench.grant_apart();
  bench.settle();
  CHECK(bench.worker_of("g")->run_all() == 1);
  bench.settle();
  CHECK(answer->result.outcome == Outcome::ok);
}

TEST_CASE("workers that nobody uses are closed one by one, and the place at last") {
  Bench bench({.id = HolderId(1), .give_back_after = seconds(10)});
  bench.grant_apart();
  bench.settle();
  run(bench, "f", "x");
  bench.advance(seconds(6));
  run(bench, "g", "x");
  bench.advance(seconds(6));
  bench.advance(seconds(1));
  CHECK(bench.worker_of("f") == nullptr);
  CHECK(bench.worker_of("g") != nullptr);
  bench.advance(seconds(6));
  bench.advance(seconds(1));
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(bench.supply.returned.size() == 1);
}

TEST_CASE("through random histories each worker runs one module, and one worker of a place runs") {
  std::mt19937 random(4711);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  Bench bench;
  for (int i = 0; i < 2; ++i) bench.grant_apart();
  bench.settle();
  std::vector<std::shared_ptr<Answer>> answers;
  for (int step = 0; step < 3000; ++step) {
    if (below(3) != 0) answers.push_back(bench.call(module_name(below(12)), "x"));
    bench.settle();
    std::map<LeaseId, int> running;  // by place
    for (const auto& worker : bench.executor.workers) {
      std::map<std::string, int> modules;
      for (const LaneMessage& message : worker->heard)
        if (const auto* announced = std::get_if<LaneAnnounce>(&message))
          ++modules[announced->digest];
      REQUIRE(modules.size() <= 1);
      if (worker->closed || !worker->lane || !worker->lane->ready()) continue;
      ++running[std::get<LaneClaim>(worker->heard.at(0)).lease];
      const int what = below(20);
      if (what == 0) {
        REQUIRE(worker->take().has_value());
        worker->say(LaneEnded{.request = worker->taken_request,
                              .outcome = Outcome::function_crashed,
                              .started = true});
        worker->claim();
      } else {
        worker->run_all();
      }
    }
    for (const auto& [lease, workers] : running) REQUIRE(workers == 1);
    REQUIRE(workers_there(bench) <= 2 * warm_workers_per_place);
    if (below(50) == 0) bench.advance(milliseconds(below(100)));
  }
  for (int round = 0; round < 100; ++round) {
    bench.settle();
    for (const auto& worker : bench.executor.workers)
      if (!worker->closed && worker->lane) worker->run_all();
  }
  for (const auto& answer : answers) CHECK(answer->done);
}

}  // namespace orchid::gateway
