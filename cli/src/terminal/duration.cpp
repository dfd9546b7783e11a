#include "terminal/duration.h"

#include <fmt/format.h>

namespace orchid::cli {

std::string format_duration(std::chrono::nanoseconds duration) {
  const auto count = static_cast<double>(duration.count());
  if (count < 1e3) return fmt::format("{} ns", duration.count());
  if (count < 1e6) return fmt::format("{:.4g} µs", count / 1e3);
  if (count < 1e9) return fmt::format("{:.4g} ms", count / 1e6);
  return fmt::format("{:.4g} s", count / 1e9);
}

}  // namespace orchid::cli
