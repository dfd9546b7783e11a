#include "supervisor/restart_policy.h"

#include <doctest/doctest.h>

namespace orchid::cli {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("the first restart is at once, and each one soon after it waits longer") {
  RestartPolicy policy;
  const MonotonicTime start{};
  CHECK(policy.on_death(start) == start);
  CHECK(policy.on_death(start + milliseconds(10)) == start + milliseconds(110));
  CHECK(policy.on_death(start + milliseconds(200)) == start + milliseconds(400));
  CHECK(policy.on_death(start + milliseconds(500)) == start + milliseconds(900));
}

TEST_CASE("five deaths within ten seconds are enough") {
  RestartPolicy policy;
  const MonotonicTime start{};
  for (int i = 0; i < 4; ++i) CHECK(policy.on_death(start + seconds(i)).has_value());
  CHECK_FALSE(policy.on_death(start + seconds(4)).has_value());
}

TEST_CASE("deaths that are long past do not count") {
  RestartPolicy policy;
  MonotonicTime now{};
  for (int i = 0; i < 100; ++i) {
    const auto again = policy.on_death(now);
    REQUIRE(again.has_value());
    CHECK(*again == now);
    now += seconds(11);
  }
}

TEST_CASE("a child that has never been heard is not silent; one that was must go on") {
  const MonotonicTime start{};
  Liveness liveness{seconds(10)};
  CHECK_FALSE(liveness.is_silent(start + seconds(1000)));
  CHECK_FALSE(liveness.due().has_value());
  liveness.heard(start);
  CHECK_FALSE(liveness.is_silent(start + seconds(10)));
  CHECK(liveness.is_silent(start + milliseconds(10'001)));
  CHECK(liveness.due() == start + seconds(10));
}

TEST_CASE("the time in which nobody listened is excused") {
  const MonotonicTime start{};
  Liveness liveness{seconds(10)};
  liveness.heard(start);
  liveness.excuse(seconds(3600));
  CHECK_FALSE(liveness.is_silent(start + seconds(3605)));
  CHECK(liveness.is_silent(start + seconds(3611)));
}

}  // namespace orchid::cli
