#include "supervisor/liveness.h"

#include <doctest/doctest.h>

namespace orchid::cli {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
