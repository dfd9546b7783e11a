#include "poll_schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>

namespace orchid::slurm {
namespace {
using namespace std::chrono_literals;
using std::chrono::milliseconds;

milliseconds pause_of(const PollSchedule& schedule, MonotonicTime now) {
  return std::chrono::duration_cast<milliseconds>(schedule.next() - now);
}

}  // namespace

TEST_CASE("the first look is at once, and the next ones follow the interval with some jitter") {
  PollSchedule schedule({.interval = 2000ms, .jitter = 0.1}, 1);
  MonotonicTime now{1h};
  CHECK(schedule.next() <= now);
  milliseconds shortest = 1h;
  milliseconds longest = 0ms;
  for (int i = 0; i < 200; ++i) {
    schedule.succeeded(now, 2);
    shortest = std::min(shortest, pause_of(schedule, now));
    longest = std::max(longest, pause_of(schedule, now));
    now = schedule.next();
  }
  CHECK(shortest >= 1800ms);
  CHECK(longest <= 2200ms);
  CHECK(longest - shortest > 200ms);
}

TEST_CASE("pauses double while slurmctld does not answer, up to the longest") {
  PollSchedule schedule({.interval = 1000ms, .longest_backoff = 10'000ms, .jitter = 0}, 1);
  MonotonicTime now{1h};
  for (const milliseconds expected : {2000ms, 4000ms, 8000ms, 10'000ms, 10'000ms}) {
    schedule.failed(now, 1);
    CHECK(pause_of(schedule, now) == expected);
    now = schedule.next();
  }
  for (int i = 0; i < 100; ++i) schedule.failed(now, 1);
  CHECK(schedule.pause() == 10'000ms);
  schedule.succeeded(now + 1h, 2);
  CHECK(schedule.pause() == 1000ms);
}

TEST_CASE("an interval longer than the longest pause is kept") {
  PollSchedule schedule({.interval = 90'000ms, .longest_backoff = 60'000ms, .jitter = 0}, 1);
  schedule.failed(MonotonicTime{1h}, 1);
  CHECK(schedule.pause() == 90'000ms);
}

TEST_CASE("no minute has more requests than the site allows") {
  for (const std::uint32_t budget : {4U, 10U, 60U}) {
    PollSchedule schedule({.interval = 100ms, .jitter = 0.1, .requests_per_minute = budget}, 7);
    MonotonicTime now{1h};
    std::deque<MonotonicTime> asked;
    for (int poll = 0; poll < 500; ++poll) {
      for (std::uint32_t i = 0; i < most_requests_per_poll; ++i) asked.push_back(now);
      while (asked.front() + 1min <= now) asked.pop_front();
      REQUIRE(asked.size() <= budget);
      CHECK(schedule.recent_requests(now) <= budget);
      if (poll % 3 == 0)
        schedule.failed(now, most_requests_per_poll);
      else
        schedule.succeeded(now, most_requests_per_poll);
      now = std::max(now, schedule.next());
    }
  }
}

}  // namespace orchid::slurm
