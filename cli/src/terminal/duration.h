// terminal/duration.h: durations as people read them; how they write them is in
// foundation/amounts.h.
#pragma once
#include <chrono>
#include <string>

namespace orchid::cli {

/// "850 ns", "12.3 µs", "4.56 ms", "7.89 s".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace orchid::cli
