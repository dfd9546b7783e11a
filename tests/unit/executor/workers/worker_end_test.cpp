// What the agent makes of a worker that ends, or is about to.
#include <doctest/doctest.h>

#include <csignal>

#include "lanes/warm_workers.h"
#include "workers/worker_process.h"

namespace orchid::executor {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t answered_request = 7;

/// One that says that it has answered a call.
struct IdleWorker {
  explicit IdleWorker(bool remote)
      : process(1, StatusPageMapping::create().value(),
                transport::make_lane({4_MiB, 4_MiB}).value(), 1_GiB) {
    if (remote) process.set_remote_lane({.port = 4711, .key = std::string(32, '0')});
    process.page().request_id.store(answered_request);
    process.page().state.store(pack_state(1, RunState::idle));
  }
  void load(const std::string& digest) {
    process.load({.digest = digest}, [](const auto&, auto) {});
  }
  void say(LastWords words) { process.page().last_words.store(static_cast<std::uint32_t>(words)); }

  WorkerProcess process;
};

}  // namespace

TEST_CASE("a worker that a module's own code ends may not have sent the answer before") {
  constexpr ChildEvent crash{.kind = ChildEvent::Kind::killed, .value = SIGSEGV};
  IdleWorker worker(true);
  worker.say(LastWords::signal);
  CHECK(worker.process.epitaph(crash).answered == answered_request);
  worker.load("a");
  const LaneEnded ended = worker.process.epitaph(crash);
  CHECK(ended.answered == 0);
  CHECK_FALSE(ended.started);
  CHECK(ended.outcome == Outcome::worker_lost);
}

TEST_CASE("a worker that could not load something has time for its last answer") {
  IdleWorker worker(true);
  for (const char* digest : {"a", "b", "c"}) worker.load(digest);
  const MonotonicTime since{1h};
  CHECK_FALSE(worker.process.load_limit(since, since + 900ms));
  CHECK(worker.process.load_limit(since, since + 2s) == LoadLimit::others);
  CHECK_FALSE(worker.process.has_time_to_end(since, since + 1s));
  worker.say(LastWords::spoiled);
  // A module's own code may have said that, and loads on.
  CHECK(worker.process.load_limit(since, since + 2s) == LoadLimit::others);
  CHECK_FALSE(worker.process.has_time_to_end(since, since + 1s));
  CHECK(worker.process.take_answer(LoadFailed{.slot = 0, .message = "why"}));
  CHECK_FALSE(worker.process.load_limit(since, since + 9s));
  CHECK(worker.process.has_time_to_end(since, since + 9s));
  CHECK(worker.process.load_limit(since, since + 10s) == LoadLimit::others);
  CHECK_FALSE(worker.process.has_time_to_end(since, since + 10s));
}

TEST_CASE("one that says it ends, and works until the agent kills it, was not killed by others") {
  constexpr ChildEvent killed{.kind = ChildEvent::Kind::killed, .value = SIGKILL};
  IdleWorker worker(true);
  worker.say(LastWords::spoiled);
  CHECK(worker.process.epitaph(killed).answered == 0);
  worker.process.hurry();
  CHECK(worker.process.epitaph(killed).answered == answered_request);
  worker.process.page().state.store(pack_state(1, RunState::running));
  CHECK(worker.process.epitaph(killed).outcome == Outcome::function_crashed);
}

TEST_CASE(
    "a worker that ends while it publishes what its call has made has a call without answer") {
  constexpr ChildEvent killed{.kind = ChildEvent::Kind::killed, .value = SIGKILL};
  IdleWorker worker(false);
  worker.process.page().state.store(pack_state(1, RunState::ending));
  const LaneEnded ended = worker.process.epitaph(killed);
  CHECK(ended.request == answered_request);
  CHECK(ended.started);
  CHECK(ended.outcome == Outcome::worker_lost);
  // It is the worker's to tell how it ends: no deadline ends it.
  CHECK_FALSE(worker.process.kill_if_running(1, KillReason::deadline));
}

TEST_CASE("a worker that may be sending an answer to another host is not restless") {
  const MonotonicTime now{1h};
  constexpr std::uint64_t idle = pack_state(1, RunState::idle);
  const auto is_restless = [&](const IdleWorker& worker, std::chrono::milliseconds used) {
    SleepWatch watch;
    CHECK_FALSE(watch.is_restless(idle, worker.process.link_work(), 0s, now));
    return watch.is_restless(idle, worker.process.link_work(), used, now + 1s);
  };
  IdleWorker local(false);
  CHECK(is_restless(local, 200ms));
  local.say(LastWords::spoiled);
  CHECK_FALSE(is_restless(local, 200ms));
  const IdleWorker remote(true);
  CHECK_FALSE(is_restless(remote, 200ms));
  CHECK(is_restless(remote, 2s));
}

}  // namespace orchid::executor
