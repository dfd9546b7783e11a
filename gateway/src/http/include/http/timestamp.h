// http/timestamp.h: points in time as the API writes them.
#pragma once
#include <cstdint>
#include <string>

namespace orchid::gateway {

/// Milliseconds since 1970: "2025-01-31T12:00:00.123Z".
[[nodiscard]] std::string format_time(std::int64_t unix_millis);

}  // namespace orchid::gateway
