#include "dispatcher/dispatcher.h"

#include <doctest/doctest.h>

#include "dispatch_fakes.h"

namespace orchid::gateway {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using test::Answer;
using test::Bench;
using test::FakeWorker;

TEST_CASE("a call with no worker asks for one, sends its module once, and gets its answer") {
  Bench bench;
  const auto answer = bench.call("echo", "hello");
  CHECK(bench.supply.wanted == 1);
  bench.clock.advance(milliseconds(4));
  bench.grant();
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  CHECK(worker.count<LaneCode>() == 1);
  bench.clock.advance(milliseconds(3));
  CHECK(worker.take() == "hello");
  worker.answer({.output = "world", .run_time = nanoseconds(1234), .log = "a line\n"});
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::ok);
  CHECK(answer->output() == "world");
  CHECK(answer->result.node == "node1");
  CHECK(answer->result.attempt == 1);
  CHECK(answer->result.log == "a line\n");
  CHECK(answer->result.timings.run == nanoseconds(1234));
  CHECK(answer->result.timings.place == milliseconds(4));

  const auto second = bench.call("echo", "again");
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(second->output() == "again");
  CHECK(worker.count<LaneAnnounce>() == 1);
  CHECK(second->result.timings.place == microseconds(0));
}

TEST_CASE("the time of compiling and linking goes to the calls that waited for it") {
  Bench bench;
  bench.executor.loads = false;
  bench.grant();
  bench.settle();
  const auto answer = bench.call("echo", "x");
  bench.settle();
  bench.clock.advance(milliseconds(2));
  FakeWorker& worker = *bench.executor.workers.at(0);
  worker.say(LaneSlot{.digest = bench.function("echo")->digest,
                      .slot = 1,
                      .generation = 1,
                      .compile_us = microseconds(1500),
                      .link_us = microseconds(100)});
  bench.settle();
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(answer->result.timings.compile == microseconds(1500));
  CHECK(answer->result.timings.link == microseconds(100));
  CHECK(answer->result.timings.queue == microseconds(400));
}

TEST_CASE("an idle worker loads an expected module, so that its first call waits for nothing") {
  Bench bench;
  bench.grant();
  bench.settle();
  bench.dispatcher->expect(0, bench.function("echo"));
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  CHECK(worker.count<LaneCode>() == 1);
  bench.call("echo", "x");
  CHECK(worker.take() == "x");
  CHECK(worker.count<LaneAnnounce>() == 1);
}

TEST_CASE("a worker is taken for a module whose calls come soon, and has it when they come") {
  DispatchCounts counts;
  Bench bench({.id = HolderId(1), .counts = &counts});
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  bench.settle();
  CHECK(bench.executor.workers.at(0)->take() == "a");
  bench.dispatcher->warm(0, bench.function("echo"), {});
  CHECK(bench.supply.spares == 1);
  CHECK(bench.supply.wanted == 1);  // a spare one is not wanted
  bench.grant();
  bench.settle();
  CHECK(counts.ahead.value() == 1);
  REQUIRE(bench.executor.workers.size() == 2);
  FakeWorker& worker = *bench.executor.workers.at(1);
  CHECK(worker.count<LaneCode>() == 1);
  const auto answer = bench.call("echo", "x");
  CHECK(worker.take() == "x");
  worker.answer({.output = "y", .run_time = milliseconds(5)});
  bench.settle();
  CHECK(answer->output() == "y");
  CHECK(answer->result.timings.place == microseconds(0));
  CHECK(worker.count<LaneAnnounce>() == 1);
}

TEST_CASE("a worker that was taken ahead goes after a minute without calls, and at once if asked") {
  for (const bool is_asked : {false, true}) {
    CAPTURE(is_asked);
    Bench bench;
    bench.dispatcher->warm(0, bench.function("echo"), {});
    CHECK(bench.supply.spares == 1);
    const LeaseId lease = bench.grant();
    bench.settle();
    CHECK(bench.supply.returned.empty());
    if (is_asked) {
      bench.dispatcher->workers_asked_back(1, {});
      bench.advance(milliseconds(100));
    } else {
      bench.advance(seconds(59));
      CHECK(bench.supply.returned.empty());
      bench.advance(seconds(2));
    }
    CHECK(bench.supply.returned == std::vector<LeaseId>{lease});
  }
}

TEST_CASE("no worker is taken ahead while calls wait, nor where an idle one can load the module") {
  Bench bench;
  bench.call("slow", "a");
  bench.dispatcher->warm(0, bench.function("echo"), {});
  CHECK(bench.supply.spares == 0);
  Bench idle;
  idle.grant();
  idle.settle();
  idle.dispatcher->warm(0, idle.function("echo"), {});
  idle.settle();
  CHECK(idle.supply.spares == 0);
  CHECK(idle.executor.workers.at(0)->count<LaneCode>() == 1);
}

TEST_CASE("a worker that was to be taken ahead is a waiting call's if it comes later than that") {
  DispatchCounts counts;
  Bench bench({.id = HolderId(1), .counts = &counts});
  bench.dispatcher->warm(0, bench.function("echo"), {});
  bench.call("slow", "a");
  bench.grant();
  bench.settle();
  CHECK(bench.executor.workers.at(0)->take() == "a");
  CHECK(counts.ahead.value() == 0);
  bench.advance(seconds(2));
  CHECK(bench.supply.spares == 2);  // it is asked for again
}

TEST_CASE("a worker that was taken ahead and has another function's call is asked for again") {
  for (const std::string function : {"slow", "echo"}) {
    CAPTURE(function);
    Bench bench;
    bench.dispatcher->warm(0, bench.function("echo"), {});
    bench.grant();
    bench.settle();
    CHECK(bench.supply.spares == 1);
    bench.call(function, "a");
    bench.settle();
    bench.advance(seconds(2));
    CHECK(bench.supply.spares == (function == "slow" ? 2 : 1));
  }
}

TEST_CASE("a worker is asked for ahead once, when calls that wait have theirs") {
  Bench bench;
  bench.call("slow", "a");
  bench.dispatcher->warm(0, bench.function("echo"), {});
  CHECK(bench.supply.spares == 0);
  bench.grant();
  bench.settle();
  CHECK(bench.executor.workers.at(0)->take() == "a");
  bench.advance(seconds(2));
  bench.advance(seconds(2));
  CHECK(bench.supply.spares == 1);
  bench.grant();
  bench.settle();
  CHECK(bench.executor.workers.at(1)->count<LaneCode>() == 1);
}

TEST_CASE(
    "modules that come while calls wait, or one after the other, are loaded when there is time") {
  Bench bench;
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  bench.call("slow", "b");
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  CHECK(worker.take() == "a");
  const auto loads = [&] { return worker.count<LaneCode>() - 1; };  // but for that of `slow`
  bench.dispatcher->warm(0, bench.function("echo"), {});
  bench.dispatcher->warm(0, bench.function("other"), {});
  bench.dispatcher->warm(0, bench.function("echo"), {});
  bench.settle();
  CHECK(loads() == 0);
  worker.answer({.output = "y", .run_time = milliseconds(5)});
  bench.settle();
  CHECK(worker.take() == "b");
  worker.answer({.output = "y", .run_time = milliseconds(5)});
  bench.settle();
  bench.advance(seconds(2));
  bench.advance(seconds(2));
  CHECK(loads() == 2);
}

TEST_CASE("a module that is only expected keeps no other function's calls waiting") {
  Bench bench;
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  CHECK(worker.take() == "a");
  worker.answer({.run_time = milliseconds(5)});
  bench.settle();
  bench.executor.loads = false;
  bench.dispatcher->expect(0, bench.function("huge"));
  bench.settle();
  bench.call("slow", "b");
  CHECK(worker.take() == "b");
}

TEST_CASE("long calls wait for an idle worker, and more workers are wanted") {
  Bench bench;
  bench.grant();
  bench.settle();
  for (const char* input : {"a", "b", "c"}) bench.call("slow", input);
  bench.settle();
  CHECK(bench.supply.wanted == 3);
  FakeWorker& worker = *bench.executor.workers.at(0);
  CHECK(worker.take() == "a");
  worker.answer({.run_time = milliseconds(5)});
  CHECK_FALSE(worker.take().has_value());  // b is sent once a is answered
  bench.settle();
  CHECK(worker.take() == "b");
}

TEST_CASE("short calls are pipelined, 16 deep, and few workers are wanted") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  std::vector<std::shared_ptr<Answer>> answers;
  for (int i = 0; i < 40; ++i) answers.push_back(bench.call("echo", std::to_string(i)));
  CHECK(bench.supply.wanted == 1);
  CHECK(worker.run_all() == 16);
  bench.settle();
  CHECK(worker.run_all() == 16);
  bench.settle();
  CHECK(worker.run_all() == 8);
  bench.settle();
  for (int i = 0; i < 40; ++i)
    CHECK(answers[static_cast<std::size_t>(i)]->output() == std::to_string(i));
  CHECK(bench.dispatcher->live_calls() == 0);
}

TEST_CASE("nothing is sent behind a short function's call that takes long") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  bench.call("echo", "a");
  bench.clock.advance(milliseconds(2));
  bench.call("echo", "b");
  CHECK(worker.take() == "a");
  worker.answer({});
  CHECK_FALSE(worker.take().has_value());
}

TEST_CASE("two calls use two workers at once") {
  Bench bench;
  bench.grant();
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  bench.call("slow", "b");
  bench.settle();
  CHECK(bench.executor.workers.at(0)->take().has_value());
  CHECK(bench.executor.workers.at(1)->take().has_value());
}

TEST_CASE("modules are remembered for each worker, and several live in one") {
  Bench bench;
  bench.grant();
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  for (int round = 0; round < 2; ++round)
    for (const char* name : {"one", "two", "three"}) {
      const auto answer = bench.call(name, name);
      bench.settle();
      CHECK(worker.run_all() == 1);
      bench.settle();
      CHECK(answer->output() == name);
    }
  CHECK(worker.count<LaneAnnounce>() == 3);
}

TEST_CASE("a stale slot is loaded again and the call goes on") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x");
  CHECK(worker.take() == "x");
  worker.answer({.kind = ResponseKind::need_code});
  bench.settle();
  CHECK(worker.count<LaneAnnounce>() == 2);
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(answer->output() == "x");
  CHECK(answer->result.attempt == 1);
}

TEST_CASE("a function's failure comes with its message") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x");
  CHECK(worker.take().has_value());
  worker.answer({.outcome = Outcome::function_error, .message = "bad luck"});
  bench.settle();
  CHECK(answer->result.outcome == Outcome::function_error);
  CHECK(answer->result.message == "bad luck");
  CHECK(answer->output().empty());
}

TEST_CASE("a large answer is used where it lies, also after the worker has gone") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const std::string large(300'000, 'x');
  const auto answer = bench.call("echo", large);
  CHECK(worker.run_all() == 1);
  bench.settle();
  worker.say(LaneEnded{.request = 0, .outcome = Outcome::worker_lost});
  bench.settle();
  CHECK(answer->output() == large);
  answer->result.output = {};
}

TEST_CASE("a call that found no room because of a slowly read answer runs again in a clear lane") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto held = bench.call("echo", std::string(300'000, 'x'));
  worker.run_all();
  bench.settle();
  const auto answer = bench.call("echo", "y");
  CHECK(worker.take() == "y");
  worker.answer({.outcome = Outcome::limit_exceeded, .message = "no room"});
  bench.settle();
  CHECK_FALSE(answer->done);
  CHECK_FALSE(worker.take().has_value());
  held->result.output = {};
  bench.settle();
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(answer->output() == "y");
}

TEST_CASE(
    "a worker that a slow client would clog takes no more calls, and is replaced when they wait") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto held = bench.call("echo", std::string(100'000, 'x'));
  worker.run_all();
  bench.settle();
  unsigned run = 0;
  for (int i = 0; i < 300; ++i) {
    bench.call("echo", "y");
    run += worker.run_all();
    bench.settle();
  }
  CHECK(run < 250);
  CHECK(run >= 128);
  bench.advance(milliseconds(60));
  CHECK(worker.count<LaneReplace>() == 1);
  CHECK(held->output().size() == 100'000);
}

TEST_CASE("idle workers are given back after a while") {
  Bench bench;
  bench.worker_with_short_function("echo");
  bench.advance(seconds(2));
  bench.advance(seconds(57));
  CHECK(bench.supply.returned.empty());
  CHECK(bench.supply.wanted == 0);
  bench.advance(seconds(2));
  CHECK(bench.supply.returned.size() == 1);
  CHECK(bench.executor.workers.at(0)->closed);
  CHECK(bench.dispatcher->workers() == 0);
}

TEST_CASE("the supply hears within a tenth of a second that a worker is idle") {
  Bench bench;
  bench.worker_with_short_function("echo");
  CHECK(bench.supply.wanted == 1);
  bench.advance(milliseconds(50));
  bench.advance(milliseconds(50));
  CHECK(bench.supply.wanted == 0);
  CHECK(bench.dispatcher->workers() == 1);
}

TEST_CASE("of an executor that is named a worker is given back, and no other one") {
  Bench bench;
  const LeaseId here = bench.grant("here");
  const LeaseId elsewhere = bench.grant("elsewhere");
  bench.settle();
  bench.clock.advance(milliseconds(30));
  bench.dispatcher->workers_asked_back(1, {ExecutorId("elsewhere")});
  CHECK(bench.supply.returned == std::vector{elsewhere});
  bench.dispatcher->workers_asked_back(1, {ExecutorId("here")});
  CHECK(bench.supply.returned == std::vector{elsewhere, here});
}

TEST_CASE("a worker that is asked back goes at once when idle, and after its call when busy") {
  Bench bench;
  bench.worker_with_short_function("echo");
  bench.grant();
  bench.settle();
  bench.clock.advance(milliseconds(30));
  bench.call("slow", "a");
  bench.settle();
  bench.dispatcher->workers_asked_back(2, {});
  CHECK(bench.supply.returned.size() == 1);
  bench.call("slow", "b");
  bench.settle();
  FakeWorker& busy = *bench.executor.workers.at(bench.executor.workers.at(0)->closed ? 1 : 0);
  CHECK(busy.take() == "a");
  busy.answer({.run_time = milliseconds(1)});
  bench.settle();
  CHECK(bench.supply.returned.size() == 2);
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(bench.dispatcher->live_calls() == 1);
}

TEST_CASE("what is asked back again is owed once, and what is needed no more is not owed") {
  Bench bench;
  bench.grant();
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  bench.call("slow", "b");
  bench.settle();
  bench.clock.advance(milliseconds(30));
  const auto answer_all = [&] {
    for (const auto& worker : bench.executor.workers)
      if (!worker->closed && worker->take()) worker->answer({.run_time = milliseconds(1)});
    bench.settle();
  };
  SUBCASE("asked twice for one") {
    bench.dispatcher->workers_asked_back(1, {});
    bench.dispatcher->workers_asked_back(1, {});
    answer_all();
    CHECK(bench.supply.returned.size() == 1);
  }
  SUBCASE("asked for two, and for none in the end") {
    bench.dispatcher->workers_asked_back(2, {});
    bench.dispatcher->workers_asked_back(0, {});
    answer_all();
    CHECK(bench.supply.returned.empty());
  }
}

TEST_CASE("the thread may spin after a short call only, and not for long") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  bench.clock.advance(milliseconds(1));
  CHECK_FALSE(bench.dispatcher->expects_answer_soon());
  bench.call("echo", "x");
  CHECK(bench.dispatcher->expects_answer_soon());
  bench.clock.advance(microseconds(21));
  CHECK_FALSE(bench.dispatcher->expects_answer_soon());
  CHECK(bench.dispatcher->prepare_to_sleep());
  worker.run_all();
  CHECK(bench.io.run_one_for(seconds(5)) == 1);  // the worker woke us
  bench.dispatcher->finish_sleep();
  CHECK(bench.dispatcher->poll());
  bench.call("echo", "x");
  worker.run_all();
  CHECK_FALSE(bench.dispatcher->prepare_to_sleep());  // the answer is there already
  CHECK(bench.dispatcher->poll());
}

TEST_CASE("calls wait in order, also when a module is slow to load") {
  Bench bench;
  bench.executor.loads = false;
  bench.grant();
  bench.settle();
  for (const char* input : {"a", "b", "c"}) bench.call("slow", input);
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  worker.say(LaneSlot{.digest = bench.function("slow")->digest, .slot = 1, .generation = 1});
  bench.settle();
  for (const char* input : {"a", "b", "c"}) {
    CHECK(worker.take() == input);
    worker.answer({.run_time = milliseconds(1)});
    bench.settle();
  }
}

TEST_CASE("a done function may start the next call") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  int done = 0;
  std::function<void()> next = [&] {
    bench.dispatcher->start({.invocation = "i-chain",
                             .version = bench.function("echo"),
                             .entry = 0,
                             .input = {},
                             .accepted = bench.clock.now(),
                             .deadline = bench.clock.now() + seconds(1)},
                            [&](CallResult) {
                              if (++done < 5) next();
                            });
  };
  next();
  for (int i = 0; i < 5; ++i) {
    worker.run_all();
    bench.settle();
  }
  CHECK(done == 5);
}

}  // namespace
}  // namespace orchid::gateway
