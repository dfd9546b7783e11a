#include <doctest/doctest.h>

#include "offload/host_idle.h"
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

namespace {

/// Looks every 10 ms for a second: of each, the host's processors were idle for so long.
Time second(WorkerGain& gain, Time now, Time& idle, milliseconds idle_of_ten, bool alone = true) {
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(10);
    idle += idle_of_ten;
    gain.host_idle(idle, now, alone);
  }
  return now;
}

}  // namespace

TEST_CASE("this system tells how long its processors have been idle") {
  const auto before = host_idle_time();
  const auto after = host_idle_time();
  REQUIRE(before.has_value());
  REQUIRE(after.has_value());
  CHECK(before->count() > 0);
  CHECK(*after >= *before);
}

TEST_CASE("workers wait for idle processors") {
  WorkerGain gain;
  Time idle{0};
  CHECK_FALSE(gain.rest_end(Time{0}).has_value());  // nobody tells
  Time now = second(gain, Time{0}, idle, milliseconds(0));
  REQUIRE(gain.rest_end(now).has_value());
  CHECK(*gain.rest_end(now) > now);
  CHECK(*gain.rest_end(now) <= now + WorkerGain::look_length);
  now = second(gain, now, idle, milliseconds(3));  // less than half of one
  CHECK(gain.rest_end(now).has_value());
  for (const Time end = now + WorkerGain::look_length + milliseconds(10); now < end;) {
    now += milliseconds(10);
    idle += milliseconds(10);
    gain.host_idle(idle, now, true);
  }
  CHECK_FALSE(gain.rest_end(now).has_value());
}

TEST_CASE("a look asks at its beginning and at its end, and at its beginning until workers rest") {
  WorkerGain gain;
  const Time now = std::chrono::seconds(1);
  gain.host_idle(Time{0}, now, false);
  CHECK(gain.next_look() == now + WorkerGain::look_interval);
  gain.host_idle(Time{0}, now + WorkerGain::look_interval, true);
  const Time end = now + WorkerGain::look_interval + WorkerGain::look_length;
  CHECK(gain.next_look() == end);
  CHECK(gain.rest_end(now + WorkerGain::look_interval) == end);
  gain.host_idle(WorkerGain::look_length, end, true);
  CHECK_FALSE(gain.rest_end(end).has_value());
  CHECK(gain.next_look() == end + WorkerGain::first_work);
}

TEST_CASE("that processors are idle is seen when no worker works, and looked at again") {
  WorkerGain gain;
  Time idle{0};
  Time now = second(gain, Time{0}, idle, milliseconds(10), false);
  CHECK(gain.rest_end(now).has_value());  // a piece of theirs is still out
  const auto looks_in = [&](int seconds) {
    int looks = 0;
    bool worked = !gain.rest_end(now).has_value();
    for (int i = 0; i < seconds * 100; ++i) {
      now += milliseconds(10);
      idle += milliseconds(10);
      gain.host_idle(idle, now, true);
      const bool works = !gain.rest_end(now).has_value();
      looks += works && !worked ? 1 : 0;
      worked = works;
    }
    return looks;
  };
  CHECK(looks_in(60) <= 10);  // ever more seldom
  CHECK(looks_in(60) >= 5);
  // Somebody else wants them now, and it does not become seldom again by itself.
  now = second(gain, now, idle, milliseconds(0));
  for (int i = 0; i < 10; ++i) now = second(gain, now, idle, milliseconds(0));
  CHECK(gain.rest_end(now).has_value());
  CHECK(looks_in(3) >= 2);
}

}  // namespace orchid::sdk
