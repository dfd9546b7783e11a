// data/clock_now.h: what the agent's parts go by.
#pragma once
#include <chrono>

#include "foundation/clock.h"

namespace orchid::executor {

[[nodiscard]] inline MonotonicTime clock_now() { return std::chrono::steady_clock::now(); }

}  // namespace orchid::executor
