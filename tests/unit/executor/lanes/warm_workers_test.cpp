#include "lanes/warm_workers.h"

#include <doctest/doctest.h>

#include <vector>

namespace orchid::executor {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t idle = pack_state(3, RunState::idle);
constexpr std::uint64_t running = pack_state(4, RunState::running);
constexpr std::uint64_t idle_later = pack_state(4, RunState::idle);

}  // namespace

TEST_CASE("a worker that uses processor time though nothing runs in it is restless") {
  SleepWatch watch;
  MonotonicTime now{1h};
  CHECK_FALSE(watch.is_restless(idle, {}, 5s, now));
  CHECK_FALSE(watch.is_restless(idle, {}, 5s + 40ms, now + 40ms));
  CHECK(watch.is_restless(idle, {}, 5s + 60ms, now + 60ms));
}

TEST_CASE("a call, and what it leaves behind, is no restlessness") {
  SleepWatch watch;
  MonotonicTime now{1h};
  CHECK_FALSE(watch.is_restless(idle, {}, 0s, now));
  CHECK_FALSE(watch.is_restless(running, {}, 10s, now + 10s));
  CHECK_FALSE(watch.sleeps(now + 10s));
  CHECK_FALSE(watch.is_restless(idle_later, {}, 11s, now + 11s));
  CHECK_FALSE(watch.is_restless(idle_later, {}, 11s, now + 12s));
  CHECK(watch.sleeps(now + 12s));
  CHECK(watch.last_run() == now + 11s);
}

TEST_CASE("a worker that publishes what its call has made is at that call still") {
  SleepWatch watch;
  MonotonicTime now{1h};
  constexpr std::uint64_t ending = pack_state(4, RunState::ending);
  CHECK_FALSE(watch.is_restless(running, {}, 0s, now));
  CHECK_FALSE(watch.is_restless(ending, {}, 0s, now + 1s));
  CHECK_FALSE(watch.is_restless(ending, {}, 0s, now + 5s));
  CHECK_FALSE(watch.sleeps(now + 5s));
  CHECK(watch.runs_since().has_value());
  CHECK_FALSE(watch.is_restless(idle_later, {}, 0s, now + 6s));
  CHECK_FALSE(watch.is_restless(idle_later, {}, 0s, now + 7s));
  CHECK(watch.sleeps(now + 7s));
}

TEST_CASE("linking code is no restlessness, and neither is a little in a long time") {
  SleepWatch watch;
  MonotonicTime now{1h};
  CHECK_FALSE(watch.is_restless(idle, {}, 0s, now));
  CHECK_FALSE(watch.is_restless(idle, {.waits = true}, 3s, now + 3s));
  CHECK_FALSE(watch.is_restless(idle, {}, 3s, now + 4s));
  CHECK_FALSE(watch.is_restless(idle, {}, 3s + 1s, now + 1h));
}

TEST_CASE("code that was given and linked between two looks is no restlessness") {
  SleepWatch watch;
  MonotonicTime now{1h};
  CHECK_FALSE(watch.is_restless(idle, {}, 0s, now));
  CHECK_FALSE(watch.is_restless(idle, {.done = 1}, 2s, now + 3s));
  CHECK(watch.is_restless(idle, {.done = 1}, 4s, now + 4s));
}

TEST_CASE("a worker that never ends linking is restless") {
  SleepWatch watch;
  MonotonicTime now{1h};
  CHECK_FALSE(watch.is_restless(idle, {.waits = true}, 0s, now));
  CHECK_FALSE(watch.is_restless(idle, {.waits = true}, 900ms, now + 900ms));
  CHECK(watch.is_restless(idle, {.waits = true}, 2s, now + 2s));
}

TEST_CASE("of two workers that run at two looks the one that began last stays") {
  SleepWatch watch;
  MonotonicTime now{1h};
  CHECK_FALSE(watch.is_restless(idle, {}, 0s, now));
  CHECK_FALSE(watch.runs_since());
  CHECK_FALSE(watch.is_restless(running, {}, 0s, now + 20ms));
  CHECK_FALSE(watch.is_restless(running, {}, 20ms, now + 40ms));
  CHECK(watch.runs_since() == now + 20ms);
  now += 40ms;
  std::vector<WarmWorker> workers{{.memory = 1_MiB, .last_run = now, .runs_since = now - 20ms},
                                  {.memory = 1_MiB, .last_run = now, .sleeps = true},
                                  {.memory = 1_MiB, .last_run = now, .runs_since = now}};
  CHECK(intruders(workers, now).empty());  // the first may just have ended
  now += 20ms;
  CHECK(intruders(workers, now) == std::vector<std::size_t>{0});
  workers.front().runs_since.reset();
  CHECK(intruders(workers, now).empty());
}

TEST_CASE("the sleepers that ran longest ago give way, and as few as need be") {
  const MonotonicTime now{1h};
  const std::vector<WarmWorker> workers{{.memory = 300_MiB, .last_run = now - 1s, .sleeps = true},
                                        {.memory = 300_MiB, .last_run = now - 3s, .sleeps = true},
                                        {.memory = 300_MiB, .last_run = now, .sleeps = false},
                                        {.memory = 100_MiB, .last_run = now - 2s, .sleeps = true}};
  CHECK(give_way(workers, 1000_MiB).empty());
  CHECK(give_way(workers, 999_MiB) == std::vector<std::size_t>{1});
  CHECK(give_way(workers, 650_MiB) == std::vector<std::size_t>{1, 3});
  CHECK(give_way(workers, 100_MiB) == std::vector<std::size_t>{1, 3, 0});
}

}  // namespace orchid::executor
