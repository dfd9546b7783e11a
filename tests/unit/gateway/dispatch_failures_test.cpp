#include <doctest/doctest.h>

#include "dispatch_fakes.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using test::Answer;
using test::Bench;
using test::FakeWorker;

TEST_CASE("a crash ends the running call; those behind it run again unnoticed in the replacement") {
  Bench bench;
  bench.executor.has_code = true;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  std::vector<std::shared_ptr<Answer>> answers;
  for (const char* input : {"a", "b", "c", "d"}) answers.push_back(bench.call("echo", input));
  CHECK(worker.take() == "a");
  worker.answer({.output = "a"});
  CHECK(worker.take() == "b");
  worker.say(LaneEnded{.request = worker.taken_request,
                       .outcome = Outcome::function_crashed,
                       .message = "the function crashed with signal 11 (SIGSEGV)",
                       .signal = 11,
                       .started = true});
  bench.settle();
  CHECK(answers[0]->output() == "a");
  REQUIRE(answers[1]->done);
  CHECK(answers[1]->result.outcome == Outcome::function_crashed);
  CHECK(answers[1]->result.message == "the function crashed with signal 11 (SIGSEGV)");
  CHECK_FALSE(answers[2]->done);
  worker.claim();
  bench.settle();
  CHECK(worker.run_all() == 2);
  bench.settle();
  CHECK(answers[2]->output() == "c");
  CHECK(answers[3]->output() == "d");
  CHECK(answers[3]->result.attempt == 1);
}

TEST_CASE("a worker that always says it had not begun is believed a few times only") {
  Bench bench;
  bench.executor.has_code = true;
  bench.grant();
  bench.settle();
  const auto answer = bench.call("liar", "x");
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  int ends = 0;
  while (!answer->done && ends < 100) {
    worker.say(LaneEnded{.request = 0, .outcome = Outcome::worker_lost, .message = "it ended"});
    bench.settle();
    worker.claim();
    bench.settle();
    ++ends;
  }
  CHECK(answer->result.outcome == Outcome::worker_lost);
  CHECK(ends <= 16);
}

TEST_CASE("a replacement is told of the module that ran last before a call needs it") {
  Bench bench;
  bench.executor.has_code = true;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  worker.say(LaneEnded{.request = 0, .outcome = Outcome::worker_lost});
  bench.settle();
  worker.claim();
  bench.settle();
  CHECK(worker.count<LaneAnnounce>() == 2);
  bench.call("echo", "x");
  CHECK(worker.run_all() == 1);
}

TEST_CASE("a lost worker's call runs again, three times in all") {
  Bench bench;
  bench.executor.has_code = true;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    CHECK_FALSE(answer->done);
    CHECK(worker.take() == "x");
    worker.say(LaneEnded{
        .request = worker.taken_request, .outcome = Outcome::worker_lost, .started = true});
    bench.settle();
    worker.claim();
    bench.settle();
  }
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::worker_lost);
  CHECK(answer->result.attempt == 3);
}

TEST_CASE("a call that is evicted again and again runs until it ends") {
  Bench bench;
  bench.executor.has_code = true;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x");
  for (int eviction = 0; eviction < 9; ++eviction) {
    CHECK_FALSE(answer->done);
    CHECK(worker.take() == "x");
    // Also while it waits behind the last call's end.
    worker.say(LaneEnded{.request = eviction % 2 == 0 ? worker.taken_request : 0,
                         .outcome = Outcome::evicted,
                         .started = eviction % 2 == 0});
    bench.settle();
    worker.claim();
    bench.settle();
  }
  CHECK(worker.run_all() == 1);
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::ok);
}

TEST_CASE("an at-most-once call that had begun ends as evicted") {
  Bench bench;
  bench.executor.has_code = true;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x", {.at_most_once = true});
  CHECK(worker.take() == "x");
  worker.say(
      LaneEnded{.request = worker.taken_request, .outcome = Outcome::evicted, .started = true});
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::evicted);
  CHECK(answer->result.attempt == 1);
}

TEST_CASE("an at-most-once call is not started twice, but it runs again when it did not start") {
  Bench bench;
  bench.executor.has_code = true;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x", {.at_most_once = true});
  worker.say(LaneEnded{.request = 4, .outcome = Outcome::worker_lost, .started = false});
  bench.settle();
  worker.claim();
  bench.settle();
  CHECK(worker.take() == "x");
  worker.say(
      LaneEnded{.request = worker.taken_request, .outcome = Outcome::worker_lost, .started = true});
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::worker_lost);
  CHECK(answer->result.attempt == 1);
}

TEST_CASE("an answer that was given before the worker's end counts") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x");
  CHECK(worker.run_all() == 1);
  worker.say(LaneEnded{.request = 4, .outcome = Outcome::function_crashed, .started = true});
  bench.io.poll();
  CHECK(answer->output() == "x");
  CHECK(answer->result.outcome == Outcome::ok);
}

TEST_CASE("when the executor is killed its calls go to another worker") {
  Bench bench;
  bench.executor.has_code = true;
  bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "x");
  bench.executor.die();
  bench.settle();
  CHECK_FALSE(answer->done);
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(bench.supply.returned.size() == 1);
  CHECK(bench.supply.wanted == 1);
}

TEST_CASE("without any executor calls end with no_capacity after two seconds, not before") {
  Bench bench;
  bench.dispatcher->supply_is({});
  bench.clock.advance(seconds(60));
  const auto answer = bench.call("echo", "x");
  bench.advance(milliseconds(1900));
  CHECK_FALSE(answer->done);
  bench.advance(milliseconds(200));
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::no_capacity);
}

TEST_CASE("where no host can run it a call ends at once, with what is missing") {
  Bench bench;
  bench.clock.advance(seconds(60));
  const auto waiting = bench.call("echo", "x");
  CHECK_FALSE(waiting->done);
  // Its last host has just gone, and may come back.
  bench.dispatcher->supply_is({.missing = "no image for aarch64; the module has x86-64"});
  CHECK_FALSE(waiting->done);
  bench.advance(milliseconds(2100));
  REQUIRE(waiting->done);
  CHECK(waiting->result.outcome == Outcome::no_capacity);
  CHECK(waiting->result.message == "no image for aarch64; the module has x86-64");
  const auto next = bench.call("echo", "x");
  REQUIRE(next->done);
  CHECK(next->result.message == "no image for aarch64; the module has x86-64");
  bench.dispatcher->supply_is({.exists = true});
  CHECK_FALSE(bench.call("echo", "x")->done);
}

TEST_CASE("a call hears at once that there has never been a host for it") {
  Bench bench;
  bench.dispatcher = std::make_unique<Dispatcher>(bench.io, bench.clock, bench.supply,
                                                  Dispatcher::Options{.id = HolderId(2)});
  auto version = std::make_shared<FunctionVersion>();
  version->hosts.needs_gpu = true;
  std::optional<CallResult> result;
  bench.dispatcher->start({.invocation = "i-1",
                           .version = version,
                           .accepted = bench.clock.now(),
                           .deadline = bench.clock.now() + seconds(60)},
                          [&](CallResult given) { result = std::move(given); });
  CHECK_FALSE(result.has_value());  // what there is has not been told yet
  bench.dispatcher->supply_is({.missing = "it needs a GPU, and no connected host offers one"});
  REQUIRE(result.has_value());
  CHECK(result->outcome == Outcome::no_capacity);
  CHECK(result->message ==
        "the module has kernels for GPUs only: it needs a GPU, and no connected host offers one");
}

TEST_CASE(
    "a deadline that passes in the queue is no_capacity without workers, deadline_exceeded with") {
  Bench bench;
  bench.dispatcher->worker_refused(LeaseId{1, 9});
  const auto never = bench.call("slow", "x", {.deadline = seconds(1)});
  bench.advance(seconds(1));
  REQUIRE(never->done);
  CHECK(never->result.outcome == Outcome::no_capacity);
  CHECK(never->result.lease == LeaseId{1, 9});  // whose decision says why
  CHECK(never->result.node.empty());
  CHECK(never->result.message.find("'orchid explain " + bench.last_invocation()) !=
        std::string::npos);
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  const auto late = bench.call("slow", "b", {.deadline = seconds(1)});
  bench.settle();
  bench.advance(seconds(1));
  REQUIRE(late->done);
  CHECK(late->result.outcome == Outcome::deadline_exceeded);
  CHECK(late->result.lease == LeaseId{});  // it was not refused one
  CHECK(late->result.attempt == 0);
}

TEST_CASE("a worker that says nothing half a second after the deadline is given up") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto stuck = bench.call("echo", "a", {.deadline = seconds(1)});
  const auto behind = bench.call("echo", "b");
  bench.advance(milliseconds(1400));
  CHECK_FALSE(stuck->done);
  bench.advance(milliseconds(100));
  REQUIRE(stuck->done);
  CHECK(stuck->result.outcome == Outcome::deadline_exceeded);
  CHECK(worker.count<LaneReplace>() == 1);
  CHECK_FALSE(behind->done);
  worker.claim();
  bench.settle();
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(behind->output() == "b");
}

TEST_CASE("a call behind a stuck one ends at its own deadline, and its late answer is ignored") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto first = bench.call("echo", "a");
  const auto behind = bench.call("echo", "b", {.deadline = seconds(1)});
  bench.advance(milliseconds(1500));
  REQUIRE(behind->done);
  CHECK(behind->result.outcome == Outcome::deadline_exceeded);
  CHECK_FALSE(first->done);
  CHECK(worker.run_all() == 2);
  bench.settle();
  CHECK(first->output() == "a");
  CHECK(bench.dispatcher->live_calls() == 0);
}

TEST_CASE("a waiting call is cancelled at once, a running one through the executor") {
  Bench bench;
  bench.executor.has_code = true;
  bench.grant();
  bench.settle();
  const auto running = bench.call("slow", "a");
  const std::string running_id = bench.last_invocation();
  const auto waiting = bench.call("slow", "b");
  bench.settle();
  bench.dispatcher->cancel(bench.last_invocation());
  REQUIRE(waiting->done);
  CHECK(waiting->result.outcome == Outcome::cancelled);
  bench.dispatcher->cancel(running_id);
  bench.settle();
  FakeWorker& worker = *bench.executor.workers.at(0);
  CHECK(worker.count<LaneCancel>() == 1);
  CHECK(worker.take() == "a");
  worker.say(
      LaneEnded{.request = worker.taken_request, .outcome = Outcome::cancelled, .started = true});
  bench.settle();
  REQUIRE(running->done);
  CHECK(running->result.outcome == Outcome::cancelled);
}

TEST_CASE("a cancelled call ends also when the executor is stopped") {
  Bench bench;
  bench.grant();
  bench.settle();
  const auto answer = bench.call("slow", "a");
  bench.settle();
  bench.dispatcher->cancel(bench.last_invocation());
  bench.advance(milliseconds(700));
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::cancelled);
}

TEST_CASE("a module that cannot be loaded fails its calls, with the reason") {
  Bench bench;
  bench.executor.rejects = LaneRejected{.code = ErrorCode::module_rejected, .message = "no entry"};
  bench.grant();
  const auto answer = bench.call("broken", "a");
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::function_error);
  CHECK(answer->result.message == "cannot be loaded: no entry");
}

TEST_CASE("a module that takes too much to compile is a limit's fault, and not loaded again") {
  Bench bench;
  bench.executor.rejects =
      LaneRejected{.code = ErrorCode::compile_limit, .message = "takes more than 30 s"};
  bench.grant();
  const auto answer = bench.call("bomb", "a");
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::limit_exceeded);
  CHECK(answer->result.message == "cannot be compiled (compile_limit): takes more than 30 s");
  CHECK(bench.executor.workers.at(0)->count<LaneAnnounce>() == 1);
}

/// A call that waits for a module, which its executor says waits for a compiler.
struct CallOfBigModule : Bench {
  CallOfBigModule() {
    executor.loads = false;
    grant();
    settle();
    answer = call("big", "a", {.deadline = milliseconds(5000)});
    settle();
    executor.workers.at(0)->say(LaneCompiling{function("big")->digest});
    settle();
  }
  std::shared_ptr<Answer> answer;
};

TEST_CASE_FIXTURE(
    CallOfBigModule,
    "a call whose deadline passes while it waits for a compiler says so, and for how long") {
  advance(milliseconds(4900));
  CHECK_FALSE(answer->done);
  advance(milliseconds(200));
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::deadline_exceeded);
  CHECK(answer->result.message ==
        "the deadline passed: it waited for a compiler for 5.1 s, and the function is not compiled "
        "yet");
}

TEST_CASE_FIXTURE(CallOfBigModule,
                  "a call whose deadline passes while its code is loaded is told so") {
  executor.workers.at(0)->say(LaneCompiling{.digest = function("big")->digest, .over = true});
  settle();
  advance(milliseconds(5100));
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::deadline_exceeded);
  CHECK(answer->result.message ==
        "the deadline passed while its module was loaded: does a static initialiser not end?");
}

TEST_CASE("a call that waits for a busy worker does not blame the compiler of another host") {
  Bench bench;
  bench.grant();
  const auto running = bench.call("big", "a");
  bench.settle();
  bench.executor.loads = false;
  bench.grant();
  const auto waiting = bench.call("big", "b", {.deadline = milliseconds(5000)});
  bench.settle();
  REQUIRE(bench.executor.workers.size() == 2);
  REQUIRE(bench.executor.workers.at(1)->count<LaneAnnounce>() == 1);
  bench.executor.workers.at(1)->say(LaneCompiling{bench.function("big")->digest});
  bench.settle();
  bench.advance(milliseconds(5100));
  REQUIRE(waiting->done);
  CHECK(waiting->result.message == "the deadline passed while it waited for a free worker");
  CHECK_FALSE(running->done);
}

TEST_CASE("a compiler that was lost is asked again before a call fails") {
  Bench bench;
  bench.executor.rejects =
      LaneRejected{.code = ErrorCode::unreachable, .message = "the compiler died"};
  bench.grant();
  const auto answer = bench.call("echo", "a");
  bench.settle();
  REQUIRE(answer->done);
  CHECK(bench.executor.workers.at(0)->count<LaneAnnounce>() == 3);
  bench.executor.rejects.reset();
  const auto again = bench.call("echo", "b");
  bench.settle();
  CHECK(bench.executor.workers.at(0)->run_all() == 1);
  bench.settle();
  CHECK(again->output() == "b");
}

TEST_CASE("a load that failed because a running call killed the worker is tried again") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  bench.executor.loads = false;
  const auto other = bench.call("other", "a");
  bench.call("echo", "crash");
  bench.settle();
  CHECK(worker.take() == "crash");
  worker.say(LaneRejected{.digest = bench.function("other")->digest,
                          .code = ErrorCode::module_rejected,
                          .message = "loading the module ended the worker"});
  worker.say(LaneEnded{
      .request = worker.taken_request, .outcome = Outcome::function_crashed, .started = true});
  bench.settle();
  CHECK_FALSE(other->done);
  bench.executor.loads = true;
  worker.claim();
  bench.settle();
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(other->output() == "a");
}

TEST_CASE("a call does not wait for a busy worker to load its module when another one comes") {
  Bench bench;
  bench.grant();
  bench.settle();
  bench.call("slow", "a");
  bench.settle();
  const auto other = bench.call("other", "b");
  bench.settle();
  bench.grant();
  bench.settle();
  CHECK(bench.executor.workers.at(1)->run_all() == 1);
  bench.settle();
  CHECK(other->output() == "b");
}

TEST_CASE("an executor that does not answer a claim loses it after two seconds") {
  Bench bench;
  bench.executor.answers_claims = false;
  const auto answer = bench.call("echo", "a");
  bench.grant();
  bench.settle();
  bench.advance(seconds(2));
  CHECK(bench.dispatcher->workers() == 0);
  CHECK(bench.supply.returned.empty());
  bench.advance(milliseconds(150));
  CHECK(bench.supply.returned.size() == 1);
  CHECK_FALSE(answer->done);
}

TEST_CASE("a refused claim and an unreachable socket are returned after a pause, not in a circle") {
  Bench bench;
  bench.executor.answers_claims = false;
  bench.grant();
  bench.settle();
  bench.executor.workers.at(0)->say(LaneRefused{ErrorCode::denied, "wrong secret"});
  bench.settle();
  CHECK(bench.supply.returned.empty());
  bench.executor.die();
  bench.grant();
  CHECK(bench.dispatcher->workers() == 0);
  bench.advance(milliseconds(150));
  CHECK(bench.supply.returned.size() == 2);
}

TEST_CASE("a silent executor's workers run what they have, and load nothing") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  bench.dispatcher->executor_answers(ExecutorId("e"), false);
  const auto known = bench.call("echo", "a");
  bench.call("other", "b");
  bench.settle();
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(known->output() == "a");
  CHECK(worker.count<LaneAnnounce>() == 1);
  bench.dispatcher->executor_answers(ExecutorId("e"), true);
  bench.settle();
  CHECK(worker.run_all() == 1);
}

TEST_CASE("a lease that is taken back evicts its call, which runs elsewhere") {
  Bench bench;
  bench.executor.has_code = true;
  const LeaseId lease = bench.grant();
  bench.settle();
  const auto answer = bench.call("echo", "a");
  bench.settle();
  bench.dispatcher->lease_ended(lease);
  CHECK(bench.supply.returned.empty());
  bench.grant();
  bench.settle();
  CHECK(bench.executor.workers.at(1)->run_all() == 1);
  bench.settle();
  CHECK(answer->output() == "a");
  CHECK(answer->result.attempt == 2);
}

TEST_CASE("a full queue refuses further calls") {
  Bench bench({.id = HolderId(1), .most_waiting = 2});
  bench.call("echo", "a");
  bench.call("echo", "b");
  const auto third = bench.call("echo", "c");
  REQUIRE(third->done);
  CHECK(third->result.outcome == Outcome::no_capacity);
}

TEST_CASE("the running call's log can be read while it runs") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  bench.call("echo", "a");
  CHECK(worker.take().has_value());
  const std::string text = "working";
  std::copy(text.begin(), text.end(), worker.lane->log_text());
  worker.lane->log_head().length.store(text.size());
  worker.lane->log_head().request_id.store(worker.taken_request);
  CHECK(bench.dispatcher->running_log(bench.last_invocation()).text == "working");
  CHECK(bench.dispatcher->running_log(bench.last_invocation()).dropped == 0);
  CHECK(bench.dispatcher->running_log("i-unknown").text.empty());
}

TEST_CASE("the running call's progress is its own, and believed up to the whole") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  bench.call("echo", "a");
  CHECK(worker.take().has_value());
  const auto progress = [&] { return bench.dispatcher->running_progress(bench.last_invocation()); };
  CHECK_FALSE(progress().has_value());
  worker.lane->progress().store(transport::pack_progress(worker.taken_request, 420));
  CHECK(progress() == 0.42);
  worker.lane->progress().store(transport::pack_progress(worker.taken_request, 1023));
  CHECK(progress() == 1.0);
  worker.lane->progress().store(transport::pack_progress(worker.taken_request + 1, 420));
  CHECK_FALSE(progress().has_value());
  CHECK_FALSE(bench.dispatcher->running_progress("i-unknown").has_value());
}

TEST_CASE("a call that crashes keeps its log, and how much of it was cut") {
  Bench bench;
  FakeWorker& worker = bench.worker_with_short_function("echo");
  const auto answer = bench.call("echo", "a");
  CHECK(worker.take().has_value());
  worker.lane->log_head().length.store(limits::log_size.value + 5);
  worker.lane->log_head().request_id.store(worker.taken_request);
  worker.say(LaneEnded{
      .request = worker.taken_request, .outcome = Outcome::function_crashed, .started = true});
  bench.settle();
  CHECK(answer->result.log.size() == limits::log_size.value);
  CHECK(answer->result.log_dropped == 5);
}

TEST_CASE("stopping ends all calls and gives all workers back") {
  Bench bench;
  bench.worker_with_short_function("echo");
  const auto running = bench.call("echo", "a");
  const auto waiting = bench.call("other", "b");
  bench.dispatcher->stop();
  CHECK(running->result.outcome == Outcome::cancelled);
  CHECK(waiting->result.outcome == Outcome::cancelled);
  CHECK(bench.supply.returned.size() == 1);
  CHECK(bench.dispatcher->live_calls() == 0);
  const auto late = bench.call("echo", "c");
  CHECK(late->result.outcome == Outcome::cancelled);
}

}  // namespace
}  // namespace orchid::gateway
