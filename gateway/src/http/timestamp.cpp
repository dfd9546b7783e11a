#include "http/timestamp.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace orchid::gateway {

std::string format_time(std::int64_t unix_millis) {
  const auto seconds = static_cast<std::time_t>(unix_millis / 1000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), unix_millis % 1000);
}

}  // namespace orchid::gateway
