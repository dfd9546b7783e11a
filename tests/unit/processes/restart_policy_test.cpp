#include "processes/restart_policy.h"

#include <doctest/doctest.h>

#include <random>

namespace orchid::processes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr RestartPolicy kept{.at_once = 1,
                             .first_pause = milliseconds(100),
                             .longest_pause = milliseconds(2000),
                             .window = seconds(10),
                             .enough = 5};

RestartPolicy any_policy(std::mt19937& random) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  const milliseconds first(1 + up_to(1000));
  const milliseconds longest = first * (1 + up_to(64));
  return {.at_once = static_cast<unsigned>(up_to(3)),
          .first_pause = first,
          .longest_pause = longest,
          .window = longest * (1 + up_to(20)),
          .enough = static_cast<unsigned>(up_to(12))};
}

}  // namespace

TEST_CASE("the first restart is at once, and each one soon after it waits longer") {
  Restarts restarts(kept);
  const MonotonicTime start{};
  CHECK(restarts.ended(start) == milliseconds(0));
  CHECK(restarts.ended(start + milliseconds(10)) == milliseconds(100));
  CHECK(restarts.ended(start + milliseconds(200)) == milliseconds(200));
  CHECK(restarts.ended(start + milliseconds(500)) == milliseconds(400));
}

TEST_CASE("so many ends within the window are enough") {
  Restarts restarts(kept);
  const MonotonicTime start{};
  for (int i = 0; i < 4; ++i) CHECK(restarts.ended(start + seconds(i)).has_value());
  CHECK_FALSE(restarts.ended(start + seconds(4)).has_value());
}

TEST_CASE("ends that are long past do not count") {
  Restarts restarts(kept);
  MonotonicTime now{};
  for (int i = 0; i < 100; ++i) {
    CHECK(restarts.ended(now) == milliseconds(0));
    now += seconds(11);
  }
}

TEST_CASE("who has done what he is for begins anew") {
  Restarts restarts({.first_pause = seconds(1), .longest_pause = seconds(60)});
  const MonotonicTime now{};
  CHECK(restarts.ended(now) == seconds(1));
  CHECK(restarts.ended(now) == seconds(2));
  CHECK(restarts.ends() == 2);
  restarts.runs_well();
  CHECK(restarts.ends() == 0);
  CHECK(restarts.ended(now) == seconds(1));
}

TEST_CASE("of any policy: pauses are within their limits and never shrink in a row of ends") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const RestartPolicy policy = any_policy(random);
    Restarts restarts(policy);
    MonotonicTime now{};
    milliseconds last{0};
    for (unsigned end = 1; end <= 20; ++end) {
      const auto pause = restarts.ended(now);
      if (policy.enough != 0 && end >= policy.enough) {
        CHECK_FALSE(pause.has_value());
        break;
      }
      REQUIRE(pause.has_value());
      if (end <= policy.at_once) CHECK(*pause == milliseconds(0));
      if (end > policy.at_once) CHECK(*pause >= policy.first_pause);
      CHECK(*pause <= policy.longest_pause);
      CHECK(*pause >= last);
      CHECK(*pause <= std::max(last * 2, policy.first_pause));
      last = *pause;
    }
  }
}

TEST_CASE("of any policy: after a quiet window, or when it ran well, it is as on the first day") {
  std::mt19937 random(8);
  for (int round = 0; round < 500; ++round) {
    const RestartPolicy policy = any_policy(random);
    Restarts used(policy);
    MonotonicTime now{};
    for (int end = round % 12; end > 0; --end) (void)used.ended(now += milliseconds(end * 7));
    if (round % 2 == 0) now += policy.window + milliseconds(1);
    if (round % 2 == 1) used.runs_well();
    Restarts fresh(policy);
    for (int end = 0; end < 10; ++end) {
      CHECK(used.ended(now) == fresh.ended(now));
      now += milliseconds(3);
    }
  }
}

TEST_CASE("of any policy: who ends again and again after the longest pause stays at that") {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    RestartPolicy policy = any_policy(random);
    policy.enough = 0;
    policy.window = policy.longest_pause * 20;
    Restarts restarts(policy);
    MonotonicTime now{};
    milliseconds pause{0};
    for (int end = 0; end < 40; ++end) now += pause = *restarts.ended(now);
    CHECK(pause == policy.longest_pause);
  }
}

}  // namespace orchid::processes
