// http/request_options.h: the texts that callers write into header fields and query parameters.
// Pure functions.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "foundation/result.h"

namespace orchid::gateway {

/// Without the blanks around it (RFC 9110 §5.6.3).
[[nodiscard]] std::string_view trim_blanks(std::string_view text);
/// The first item of a list, without the blanks around it; the list is left with the others.
[[nodiscard]] std::string_view take_item(std::string_view& list, char separator);
/// A decimal number without sign. Nothing: it is none, or larger than any number here.
[[nodiscard]] std::optional<std::uint64_t> parse_digits(std::string_view text);

/// "30s", "500ms", "2m", "1h", "30" (seconds). Errors: `bad_request`.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// A decimal number without sign in [least, most]. Errors: `bad_request`, naming `what` and the
/// range.
struct NumberRange {
  std::string_view what;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view text, NumberRange range);

}  // namespace orchid::gateway
