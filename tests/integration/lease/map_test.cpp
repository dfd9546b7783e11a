// One function over many inputs: Lease::map.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

using Inputs = std::vector<std::vector<std::byte>>;

Inputs of_texts(std::initializer_list<std::string_view> texts) {
  Inputs inputs;
  for (const std::string_view text : texts) {
    const auto bytes = std::as_bytes(std::span(text));
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  return inputs;
}

/// Mostly small ones, some of many pages.
Inputs random_inputs(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Inputs inputs(count);
  for (auto& input : inputs) {
    input.resize(random() % 50 == 0 ? random() % 300'000 : random() % 200);
    for (std::byte& byte : input) byte = static_cast<std::byte>(random());
  }
  return inputs;
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "map gives replies in the inputs' order") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  std::vector<std::vector<std::byte>> inputs;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = std::to_string(i);
    const auto bytes = as_bytes(text);
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  const auto replies = lease.map(echo, inputs);
  REQUIRE(replies.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(replies[i].output == inputs[i]);
  CHECK(lease.map(echo, {}).empty());
}

TEST_CASE_FIXTURE(LeaseFixture, "map starts a straggler again on an idle worker") {
  take({.workers = 2});
  const LeasedFunction straggles = load("straggles_once");
  std::vector<std::vector<std::byte>> inputs(20);
  const auto start = std::chrono::steady_clock::now();
  CHECK(straggles.invoke("mark").text() == "1");
  const auto replies = lease.map(straggles, inputs);
  CHECK(replies.size() == 20);
  CHECK(std::chrono::steady_clock::now() - start < seconds(10));
}

TEST_CASE_FIXTURE(LeaseFixture, "map does not start again what may run once only") {
  take({.workers = 2});
  const LeasedFunction straggles = load("straggles_once");
  const std::vector<std::vector<std::byte>> inputs(20);
  CHECK(straggles.invoke("mark").text() == "1");
  // The marked worker keeps its first call for 20 s.
  const Error error = error_of(
      [&] { (void)lease.map(straggles, inputs, {.deadline = seconds(2), .at_most_once = true}); });
  check_clear(error, ErrorKind::deadline_exceeded);
}

TEST_CASE_FIXTURE(LeaseFixture, "map spreads its calls over the workers") {
  take({.workers = 2});
  const LeasedFunction sleeps = load("sleeps");
  const LeasedFunction pid = load("reports_pid");
  std::set<std::string> workers;
  CHECK(eventually([&] {
    for (const Reply& reply : lease.map(pid, std::vector<std::vector<std::byte>>(200)))
      workers.insert(std::string(reply.text()));
    return workers.size() == 2;
  }));
  // Ten calls of 500 ms each, on two workers: not one after the other.
  const auto text = as_bytes(std::string_view("500"));
  const Inputs inputs(10, std::vector<std::byte>(text.begin(), text.end()));
  const auto start = std::chrono::steady_clock::now();
  CHECK(lease.map(sleeps, inputs).size() == 10);
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(4800));
}

TEST_CASE_FIXTURE(LeaseFixture, "map throws the first failure") {
  take({.workers = 2});
  const LeasedFunction fails = load("returns_error");
  const std::vector<std::vector<std::byte>> inputs(10);
  const Error error = error_of([&] { (void)lease.map(fails, inputs); });
  CHECK(error.kind() == ErrorKind::function_error);
  CHECK(error.message() == "the answer was not 42");
}

TEST_CASE_FIXTURE(LeaseFixture, "map keeps inputs of all sizes apart") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  const Inputs inputs = random_inputs(3000, 1);
  const auto replies = lease.map(echo, inputs);
  REQUIRE(replies.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(replies[i].output == inputs[i]);
}

TEST_CASE_FIXTURE(LeaseFixture, "for_each hands over each output once, and its failure is thrown") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  const Inputs inputs = random_inputs(20'000, 5);
  std::vector<unsigned> seen(inputs.size());
  const auto input = [&](std::size_t i) { return std::span<const std::byte>(inputs[i]); };
  lease.for_each(echo, inputs.size(), input, [&](std::size_t i, std::span<const std::byte> output) {
    seen[i] += std::ranges::equal(output, inputs[i]) ? 1 : 100;
  });
  CHECK(std::ranges::all_of(seen, [](unsigned times) { return times == 1; }));
  const LeasedFunction fails = load("returns_error");
  CHECK(error_of([&] {
          lease.for_each(fails, 5, input, [](std::size_t, std::span<const std::byte>) {});
        }).kind() == ErrorKind::function_error);
}

TEST_CASE_FIXTURE(LeaseFixture, "what a visitor of outputs throws ends the calls") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  const auto nothing = [](std::size_t) { return std::span<const std::byte>{}; };
  CHECK_THROWS_AS(lease.for_each(echo, 1000, nothing,
                                 [](std::size_t i, std::span<const std::byte>) {
                                   if (i == 500) throw std::runtime_error("enough");
                                 }),
                  std::runtime_error);
  CHECK(echo.invoke("after").text() == "after");
}

TEST_CASE_FIXTURE(LeaseFixture, "several threads map at once, and single calls go between") {
  take({.workers = 2});
  const LeasedFunction echo = load(example("echo"));
  std::atomic<bool> over{false};
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const Inputs inputs = random_inputs(2000, t + 10);
      const auto replies = lease.map(echo, inputs);
      for (std::size_t i = 0; i < inputs.size(); ++i) wrong += replies[i].output != inputs[i];
    });
  std::thread single([&] {
    for (unsigned i = 0; !over || i < 100; ++i) wrong += echo.invoke("single").text() != "single";
  });
  for (std::thread& thread : threads) thread.join();
  over = true;
  single.join();
  CHECK(wrong == 0);
}

TEST_CASE_FIXTURE(LeaseFixture, "map goes on when its workers are killed") {
  take({.workers = 2});
  const LeasedFunction sleeps = load("sleeps");
  const Inputs inputs(40, of_texts({"50"}).front());
  std::thread killer([&] {
    for (int round = 0; round < 3; ++round) {
      std::vector<std::int64_t> pids;
      CHECK(eventually([&] {  // in the middle of a call of each
        pids = sdk::LeaseAccess::core_of(lease).worker_pids();
        return pids.size() == 2 && sdk::LeaseAccess::core_of(lease).idle_workers() == 0;
      }));
      ::kill(static_cast<pid_t>(pids.at(0)), SIGKILL);
    }
  });
  const auto replies = lease.map(sleeps, inputs);
  killer.join();
  REQUIRE(replies.size() == inputs.size());
  for (const Reply& reply : replies) CHECK(reply.text() == "50");
}

TEST_CASE_FIXTURE(LeaseFixture, "a failure ends map at once, whatever else still runs") {
  take({.workers = 2});
  const LeasedFunction sleeps = load("sleeps");
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of([&] {
    (void)lease.map(sleeps,
                    of_texts({"9000", "a text of more than 24 characters", "9000", "9000"}));
  });
  CHECK(error.kind() == ErrorKind::bad_request);
  CHECK(std::chrono::steady_clock::now() - start < seconds(5));
  CHECK(sleeps.invoke("1").text() == "1");
}

TEST_CASE_FIXTURE(LeaseFixture, "map is cancelled from another thread") {
  const LeasedFunction loops = load("loops");
  const Inputs inputs(5);
  std::stop_source stop;
  std::thread presses([&] {
    eventually([&] { return sdk::LeaseAccess::core_of(lease).idle_workers() == 0; });
    stop.request_stop();
  });
  const Error error = error_of([&] { (void)lease.map(loops, inputs, {.stop = stop.get_token()}); });
  presses.join();
  CHECK(error.kind() == ErrorKind::cancelled);
  CHECK(load(example("echo")).invoke("after").text() == "after");
}

TEST_CASE_FIXTURE(LeaseFixture, "calls of map have a deadline each") {
  const LeasedFunction loops = load("loops");
  const Inputs inputs(3);
  const Error error =
      error_of([&] { (void)lease.map(loops, inputs, {.deadline = milliseconds(50)}); });
  CHECK(error.kind() == ErrorKind::deadline_exceeded);
}

TEST_CASE_FIXTURE(LeaseFixture, "a lease that is released ends its maps") {
  const LeasedFunction loops = load("loops");
  const Inputs inputs(5);
  std::thread releases([&] {
    eventually([&] { return sdk::LeaseAccess::core_of(lease).idle_workers() == 0; });
    lease.release();
  });
  const Error error = error_of([&] { (void)lease.map(loops, inputs); });
  releases.join();
  CHECK(error.kind() == ErrorKind::lease_ended);
}

TEST_CASE_FIXTURE(LeaseFixture, "calls of map that may run once are not doubled") {
  take({.workers = 2});
  const LeasedFunction counts = load("counts_calls");
  const Inputs inputs(300);
  std::map<int, int> times;  // that each count was told: each worker counts from 1
  for (const Reply& reply : lease.map(counts, inputs, {.at_most_once = true}))
    ++times[std::stoi(std::string(reply.text()))];
  // Of a call that was doubled one answer is dropped, and its count missing.
  const int longer = times.rbegin()->first;
  const int shorter = static_cast<int>(inputs.size()) - longer;
  for (int count = 1; count <= longer; ++count) CHECK(times[count] == (count <= shorter ? 2 : 1));
}

}  // namespace orchid::tests
