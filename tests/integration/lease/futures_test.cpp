#include <algorithm>
#include <coroutine>
#include <future>
#include <latch>
#include <random>
#include <thread>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

/// A coroutine that nobody waits for.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached await_into(LeasedFunction function, std::promise<std::string>& result) {
  const Reply first = co_await function.async("first");
  const Reply second = co_await function.async(std::string(first.text()) + " second");
  result.set_value(std::string(second.text()));
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "futures are waited for in any order") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  std::vector<std::pair<int, ReplyFuture>> futures;
  for (int i = 0; i < 2000; ++i) futures.emplace_back(i, echo.async(std::to_string(i)));
  std::ranges::shuffle(futures, std::mt19937(7));
  for (const auto& [i, future] : futures) CHECK(future.get().text() == std::to_string(i));
}

TEST_CASE_FIXTURE(LeaseFixture, "a future's result is taken once") {
  const ReplyFuture future = load(example("echo")).async("once");
  CHECK(future.wait_for(seconds(10)));
  CHECK(future.ready());
  CHECK(future.get().text() == "once");
  CHECK(error_of([&] { (void)future.get(); }).kind() == ErrorKind::bad_request);
}

TEST_CASE_FIXTURE(LeaseFixture,
                  "callbacks run also for what is done already, and may start calls") {
  const LeasedFunction echo = load(example("echo"));
  std::promise<std::string> chained;
  echo.async("one").then([&](const ReplyFuture& first) {
    echo.async(std::string(first.get().text()) + " two").then([&](const ReplyFuture& second) {
      chained.set_value(std::string(second.get().text()));
    });
  });
  auto result = chained.get_future();
  REQUIRE(result.wait_for(seconds(10)) == std::future_status::ready);
  CHECK(result.get() == "one two");

  const ReplyFuture done = echo.async("x");
  done.wait();
  std::promise<void> called;
  done.then([&](const ReplyFuture&) { called.set_value(); });
  CHECK(called.get_future().wait_for(seconds(10)) == std::future_status::ready);
}

TEST_CASE_FIXTURE(LeaseFixture, "a coroutine waits for calls") {
  std::promise<std::string> result;
  await_into(load(example("echo")), result);
  auto future = result.get_future();
  REQUIRE(future.wait_for(seconds(10)) == std::future_status::ready);
  CHECK(future.get() == "first second");
}

TEST_CASE_FIXTURE(LeaseFixture, "a call that waits is dropped when it is cancelled") {
  const LeasedFunction sleeps = load("sleeps");
  const LeasedFunction counts = load("counts_calls");
  const ReplyFuture running = sleeps.async("2000");
  const ReplyFuture waiting = counts.async("");
  waiting.cancel();
  check_clear(error_of([&] { (void)waiting.get(); }), ErrorKind::cancelled);
  CHECK_FALSE(running.ready());
  CHECK(running.get().text() == "2000");
  CHECK(counts.invoke("").text() == "1");  // it never ran
}

TEST_CASE_FIXTURE(LeaseFixture, "a running call is stopped when it is cancelled") {
  const LeasedFunction loops = load("loops");
  const LeasedFunction polite = load("loops_politely");
  const ReplyFuture stubborn = loops.async("");
  CHECK_FALSE(stubborn.wait_for(milliseconds(20)));
  stubborn.cancel();
  const Error error = error_of([&] { (void)stubborn.get(); });
  check_clear(error, ErrorKind::cancelled);
  CHECK(error.node() == "here");
  (void)load("counts_calls").invoke("");  // that worker is gone, and the next one is there now
  const ReplyFuture stops = polite.async("");
  CHECK_FALSE(stops.wait_for(milliseconds(20)));
  stops.cancel();
  CHECK(stops.get().text() == "stopped");
}

TEST_CASE_FIXTURE(LeaseFixture, "a stop token cancels synchronous and asynchronous calls") {
  const LeasedFunction loops = load("loops");
  std::stop_source stop;
  const ReplyFuture future = loops.async("", {.stop = stop.get_token()});
  CHECK_FALSE(future.wait_for(milliseconds(20)));
  std::thread canceller([&] { CHECK(eventually([&] { return future.ready(); }) == true); });
  stop.request_stop();
  canceller.join();
  CHECK(error_of([&] { (void)future.get(); }).kind() == ErrorKind::cancelled);
  CHECK(error_of([&] { (void)loops.invoke("", {.stop = stop.get_token()}); }).kind() ==
        ErrorKind::cancelled);
  std::stop_source later;
  std::thread presses([&] {
    CHECK(eventually([&] { return sdk::LeaseAccess::core_of(lease).idle_workers() == 0; }));
    later.request_stop();
  });
  CHECK(error_of([&] { (void)loops.invoke("", {.stop = later.get_token()}); }).kind() ==
        ErrorKind::cancelled);
  presses.join();
}

TEST_CASE_FIXTURE(LeaseFixture, "a deadline ends calls that wait and calls that run") {
  const LeasedFunction sleeps = load("sleeps");
  const LeasedFunction loops = load("loops");
  const ReplyFuture running = sleeps.async("3000");
  const auto start = std::chrono::steady_clock::now();
  const ReplyFuture waiting = sleeps.async("0", {.deadline = milliseconds(50)});
  check_clear(error_of([&] { (void)waiting.get(); }), ErrorKind::deadline_exceeded);
  const Error sync = error_of([&] { (void)sleeps.invoke("0", {.deadline = milliseconds(50)}); });
  check_clear(sync, ErrorKind::deadline_exceeded);
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(2900));
  CHECK(running.get().text() == "3000");

  const Error killed = error_of([&] { (void)loops.invoke("", {.deadline = milliseconds(50)}); });
  check_clear(killed, ErrorKind::deadline_exceeded);
  CHECK(killed.attempt() == 1);
  CHECK(sleeps.invoke("0").text() == "0");
}

TEST_CASE_FIXTURE(LeaseFixture, "eight threads share one lease") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  std::vector<std::thread> threads;
  std::atomic<unsigned> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string text = std::to_string(t) + ":" + std::to_string(i);
        if (i % 4 == 0 ? echo.async(text).get().text() == text : echo.invoke(text).text() == text)
          ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 16'000);
}

TEST_CASE_FIXTURE(LeaseFixture, "pending futures end when their lease does") {
  const LeasedFunction loops = load("loops");
  std::vector<ReplyFuture> futures;
  for (int i = 0; i < 10; ++i) futures.push_back(loops.async(""));
  std::promise<void> told;
  futures.back().then([&](const ReplyFuture&) { told.set_value(); });
  {
    const Lease ending = std::move(lease);
  }
  for (const ReplyFuture& future : futures) {
    REQUIRE(future.ready());
    CHECK(error_of([&] { (void)future.get(); }).kind() == ErrorKind::lease_ended);
  }
  CHECK(told.get_future().wait_for(seconds(10)) == std::future_status::ready);
}

}  // namespace orchid::tests
