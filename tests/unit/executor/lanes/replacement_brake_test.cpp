#include "lanes/replacement_brake.h"

#include <doctest/doctest.h>

namespace orchid::executor {

using namespace std::chrono_literals;

TEST_CASE("a burst of deaths costs nothing; a steady stream is slowed to the rate") {
  ReplacementBrake brake;
  MonotonicTime now{1h};
  for (int i = 0; i < static_cast<int>(ReplacementBrake::burst); ++i)
    CHECK(brake.after_death(now) == 0ms);
  CHECK(brake.after_death(now) == 125ms);
  CHECK(brake.braking());
  now += 125ms;
  CHECK(brake.after_death(now) == 125ms);
  now += 10s;
  CHECK(brake.after_death(now) == 0ms);
  CHECK_FALSE(brake.braking());
}

}  // namespace orchid::executor
