#include "workers/idle_memory.h"

#include <doctest/doctest.h>

namespace orchid::executor {

using namespace std::chrono_literals;

TEST_CASE("a worker's memory is looked at once for each time without calls") {
  IdleMemory memory;
  MonotonicTime now{1h};
  CHECK_FALSE(memory.is_due(now, 0));
  CHECK_FALSE(memory.is_due(now += 1h, 0));  // it has had none at all
  CHECK_FALSE(memory.is_due(now, 7));
  CHECK_FALSE(memory.is_due(now += IdleMemory::idle_time - 1ms, 7));
  CHECK(memory.is_due(now += 1ms, 7));
  CHECK_FALSE(memory.is_due(now += 1h, 7));
  CHECK_FALSE(memory.is_due(now, 8));
  CHECK(memory.is_due(now += IdleMemory::idle_time, 8));
}

}  // namespace orchid::executor
