#include <doctest/doctest.h>

#include "offload/worker_gain.h"

namespace orchid::sdk {
namespace {

using std::chrono::milliseconds;
using Time = WorkerGain::Time;

/// One window in which a local thread has a core for `busy` of each millisecond, and the workers do
/// `worker_items` meanwhile; the thread does 100 items in a millisecond of its core.
Time window(WorkerGain& gain, Time now, double busy, std::size_t worker_items) {
  gain.worker_done(0, now);  // starts it, unless one is open
  gain.worker_done(worker_items, now);
  for (const Time end = now + WorkerGain::window_length; now < end;) {
    now += milliseconds(1);
    gain.local_done(static_cast<std::size_t>(100 * busy), milliseconds(1),
                    Time(static_cast<Time::rep>(1e6 * busy)), now);
  }
  return now;
}

}  // namespace

TEST_CASE("workers that take no core from local threads go on") {
  WorkerGain gain;
  Time now{0};
  for (int i = 0; i < 5; ++i) now = window(gain, now, 1.0, 100);
  CHECK_FALSE(gain.rest_end(now).has_value());
}

TEST_CASE("workers that do more than they cost go on") {
  WorkerGain gain;
  const Time now = window(gain, Time{0}, 0.8, 1000);  // cost 600
  CHECK_FALSE(gain.rest_end(now).has_value());
}

TEST_CASE("what other programs take is not held against workers") {
  WorkerGain gain;
  Time now{0};
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(1);
    gain.local_done(50, milliseconds(1), std::chrono::microseconds(500), now);
  }
  now = window(gain, now, 0.5, 900);
  CHECK_FALSE(gain.rest_end(now).has_value());
  now = window(gain, now, 0.1, 900);  // half of it is theirs
  CHECK(gain.rest_end(now).has_value());
}

TEST_CASE("workers that do less than they cost rest, longer each time") {
  WorkerGain gain;
  Time now = window(gain, Time{0}, 0.5, 900);  // cost 1500
  REQUIRE(gain.rest_end(now) == now + WorkerGain::first_rest);
  now += WorkerGain::first_rest;
  CHECK_FALSE(gain.rest_end(now).has_value());
  now = window(gain, now, 0.5, 900);
  CHECK(gain.rest_end(now) == now + 4 * WorkerGain::first_rest);
}

TEST_CASE("runs shorter than a window are judged together, without the time between them") {
  WorkerGain gain;
  Time now{0};
  for (int run = 0; run < 3; ++run) {
    CHECK_FALSE(gain.rest_end(now).has_value());
    now += std::chrono::hours(1);
    gain.worker_done(0, now);
    gain.worker_done(300, now);
    for (int i = 0; i < 10; ++i) {
      now += milliseconds(1);
      gain.local_done(50, milliseconds(1), std::chrono::microseconds(500), now);
    }
    gain.end_run();
  }
  CHECK(gain.rest_end(now) == now + WorkerGain::first_rest);
}

TEST_CASE("a gain after a rest makes the next rest short again") {
  WorkerGain gain;
  Time now = window(gain, Time{0}, 0.5, 0) + WorkerGain::first_rest;
  now = window(gain, now, 1.0, 100);
  now = window(gain, now, 0.5, 0);
  CHECK(gain.rest_end(now) == now + WorkerGain::first_rest);
}

}  // namespace orchid::sdk
