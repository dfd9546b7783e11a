#include "foundation/tick_clock.h"

#include <doctest/doctest.h>

namespace orchid {

TEST_CASE("a start that another core's counter has put into the future is no long time ago") {
  CHECK(ticks_since(ticks_now() + 1'000'000'000'000) == 0);
  const std::uint64_t start = ticks_now();
  while (ticks_since(start) == 0) {
  }
  CHECK(ticks_since(start) < 1'000'000'000'000);
}

}  // namespace orchid
