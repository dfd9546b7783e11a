// terminal/duration.h: durations as people write and read them.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "foundation/result.h"

namespace orchid::cli {

/// "250us", "30s", "1h 5m", "1.5 s", "90" (seconds), "01:30:00" (as Slurm writes it). Errors:
/// `bad_request`.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
/// "850 ns", "12.3 µs", "4.56 ms", "7.89 s".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace orchid::cli
