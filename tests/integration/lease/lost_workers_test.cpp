#include <signal.h>

#include <thread>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

/// The process id of the worker that runs this lease's calls, as it is seen in its lane.
pid_t worker_of(const LeasedFunction& reports_pid) {
  return static_cast<pid_t>(std::stol(std::string(reports_pid.invoke("").text())));
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "a call whose worker is killed runs again on its replacement") {
  const LeasedFunction pid = load("reports_pid");
  const LeasedFunction sleeps = load("sleeps");
  const pid_t victim = worker_of(pid);
  const ReplyFuture running = sleeps.async("1000");
  const ReplyFuture waiting = sleeps.async("1");
  CHECK_FALSE(running.wait_for(milliseconds(300)));
  REQUIRE(::kill(victim, SIGKILL) == 0);
  CHECK(running.get().text() == "1000");
  CHECK(waiting.get().text() == "1");
  CHECK(worker_of(pid) != victim);
}

TEST_CASE_FIXTURE(LeaseFixture, "a synchronous call survives its worker's death") {
  for (const Wait wait : {Wait::adaptive, Wait::blocking, Wait::hot}) {
    take({.workers = 1, .wait = wait});
    const LeasedFunction own_pid = load("reports_pid");
    const LeasedFunction own_sleeps = load("sleeps");
    const pid_t victim = worker_of(own_pid);
    std::jthread killer([&] {
      CHECK(eventually([&] { return lease.capacity().workers == 1; }));
      ::kill(victim, SIGKILL);
    });
    CHECK(own_sleeps.invoke("100").text() == "100");
  }
}

TEST_CASE_FIXTURE(LeaseFixture, "at most once means that a lost call is not started again") {
  const LeasedFunction pid = load("reports_pid");
  const LeasedFunction sleeps = load("sleeps");
  const pid_t victim = worker_of(pid);
  const ReplyFuture running = sleeps.async("10000", {.at_most_once = true});
  CHECK_FALSE(running.wait_for(milliseconds(300)));
  REQUIRE(::kill(victim, SIGKILL) == 0);
  const Error error = error_of([&] { (void)running.get(); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.attempt() == 1);
  CHECK(error.retryable());
  CHECK(error.node() == "here");
}

TEST_CASE_FIXTURE(LeaseFixture, "a call that loses three workers is given up") {
  const ReplyFuture running = load("sleeps").async("10000");
  pid_t victim = 0;
  for (int death = 0; death < 3; ++death) {
    REQUIRE(eventually([&] {
      const auto pids = sdk::LeaseAccess::core_of(lease).worker_pids();
      if (pids.size() != 1 || pids[0] == victim) return false;
      if (sdk::LeaseAccess::core_of(lease).idle_workers() != 0) return false;
      victim = static_cast<pid_t>(pids[0]);
      return true;
    }));
    CHECK_FALSE(running.wait_for(milliseconds(300)));
    REQUIRE(::kill(victim, SIGKILL) == 0);
  }
  const Error error = error_of([&] { (void)running.get(); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.attempt() == 3);
}

TEST_CASE_FIXTURE(LeaseFixture, "a worker that dies idle is replaced before anybody notices") {
  const LeasedFunction pid = load("reports_pid");
  const pid_t victim = worker_of(pid);
  REQUIRE(::kill(victim, SIGKILL) == 0);
  CHECK(worker_of(pid) != victim);
  REQUIRE(::kill(worker_of(pid), SIGKILL) == 0);
  CHECK(pid.invoke("").timing.total < seconds(5));
}

TEST_CASE_FIXTURE(LeaseFixture, "a crash is the function's doing and is not repeated") {
  const LeasedFunction crashes = load("segfaults");
  const LeasedFunction exits = load("exits");
  const Error error = error_of([&] { (void)crashes.invoke(""); });
  check_clear(error, ErrorKind::function_crashed);
  CHECK(error.attempt() == 1);
  CHECK_FALSE(error.retryable());
  CHECK(error.outcome() == "function_crashed");
  CHECK(error_of([&] { (void)exits.async("").get(); }).kind() == ErrorKind::function_exited);
  CHECK(error_of([&] { (void)load("logs_and_crashes").invoke(""); }).log() == "last words\n");
  CHECK(load("counts_calls").invoke("").text() == "1");
}

TEST_CASE_FIXTURE(
    LeaseFixture,
    "a function that forges what its worker says has crashed, and not its neighbour") {
  take({.workers = 2});
  const LeasedFunction sleeps = load("sleeps");
  const LeasedFunction forges = load("forges_last_words");
  for (const char* words : {"0 idle", "3", "3 idle"}) {
    CAPTURE(words);
    const ReplyFuture neighbour = sleeps.async("500", {.at_most_once = true});
    const Error error = error_of([&] { (void)forges.invoke(words); });
    check_clear(error, ErrorKind::function_crashed);
    CHECK(error.attempt() == 1);
    CHECK_FALSE(error.retryable());
    CHECK(error.message().find("broke the rules of its sandbox") != std::string::npos);
    CHECK(neighbour.get().text() == "500");
  }
  CHECK(executor.counter("workers_worker_lost") == 0);
}

TEST_CASE_FIXTURE(LeaseFixture, "a stopped worker hangs nobody") {
  const LeasedFunction pid = load("reports_pid");
  const pid_t victim = worker_of(pid);
  REQUIRE(::kill(victim, SIGSTOP) == 0);
  CHECK(worker_of(pid) != victim);
}

TEST_CASE_FIXTURE(LeaseFixture, "the end of the executor ends waiting calls") {
  auto* own = new LocalExecutor(executor_options());
  auto own_source = std::make_shared<ExecutorSource>(*own);
  Lease own_lease = take_lease(own_source, over_lane_under_test({.workers = 1}));
  const LeasedFunction loops = own_lease.module(module_bytes(test_function("loops"))).function();
  const ReplyFuture running = loops.async("");
  CHECK_FALSE(running.wait_for(milliseconds(20)));
  own_source->forgotten = true;
  delete own;
  check_clear(error_of([&] { (void)running.get(); }), ErrorKind::lease_ended);
  check_clear(error_of([&] { (void)loops.invoke(""); }), ErrorKind::lease_ended);
}

}  // namespace orchid::tests
