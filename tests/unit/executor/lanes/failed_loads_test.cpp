#include "lanes/failed_loads.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace orchid::executor {

TEST_CASE("a module that failed is known for a while, another one is not") {
  FailedLoads loads;
  const MonotonicTime start{std::chrono::hours(1)};
  loads.remember("a", {ErrorCode::module_rejected, "it throws"}, start);
  const MonotonicTime end = start + FailedLoads::remembered_for;
  REQUIRE(loads.find("a", end - std::chrono::milliseconds(1)) != nullptr);
  CHECK(loads.find("a", start)->message == "it throws");
  CHECK(loads.find("a", end) == nullptr);
  CHECK(loads.find("b", start) == nullptr);
}

TEST_CASE("so many are known, and the oldest is forgotten first") {
  FailedLoads loads;
  MonotonicTime now{std::chrono::hours(1)};
  for (std::size_t i = 0; i <= FailedLoads::most; ++i) {
    now += std::chrono::microseconds(1);
    loads.remember(std::to_string(i), {}, now);
  }
  CHECK(loads.find("0", now) == nullptr);
  CHECK(loads.find("1", now) != nullptr);
  CHECK(loads.find(std::to_string(FailedLoads::most), now) != nullptr);
}

}  // namespace orchid::executor
