#include "data/fair_wait.h"

#include <doctest/doctest.h>

#include <chrono>

namespace orchid::gateway {
namespace {

using namespace std::chrono_literals;

constexpr MonotonicTime start{1h};

/// Looks whenever it is time, each time so much later; when it is over.
MonotonicTime end_of(FairWait wait, std::chrono::milliseconds late) {
  while (true) {
    const MonotonicTime now = wait.look_at() + late;
    if (wait.is_over(now)) return now;
  }
}

TEST_CASE("who looks in time waits for its slices") {
  CHECK(end_of(FairWait({}, start), 0ms) == start + 5s);
  CHECK(end_of(FairWait({}, start), 20ms) == start + 5s + 5 * 20ms);
  CHECK(end_of(FairWait({.slice = 100ms, .slices = 3}, start), 0ms) == start + 300ms);
}

TEST_CASE("time in which one stood still oneself is not the other one's") {
  FairWait wait({}, start);
  CHECK_FALSE(wait.is_over(start + 1s));
  CHECK_FALSE(wait.is_over(start + 30s));  // the machine has slept
  CHECK(wait.look_at() == start + 31s);
  for (int slices = 1; slices < 4; ++slices) CHECK_FALSE(wait.is_over(start + 30s + slices * 1s));
  CHECK(wait.is_over(start + 34s));
}

TEST_CASE("who is always late does not wait for ever") {
  CHECK(end_of(FairWait({}, start), 1s) <= start + 61s);
  CHECK(end_of(FairWait({.most = 3s}, start), 0ms) == start + 3s);
  CHECK(FairWait({}, start).is_over(start + 1h));
}

}  // namespace
}  // namespace orchid::gateway
