// http/request_options.h: the texts that callers write into header fields and query parameters.
// Pure functions.
#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

#include "foundation/amounts.h"
#include "foundation/result.h"

namespace orchid::gateway {

/// As names of fields and preferences are compared: letters of ASCII alone have a case.
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
/// Without the blanks around it (RFC 9110 §5.6.3).
[[nodiscard]] std::string_view trim_blanks(std::string_view text);
/// The first item of a list, without the blanks around it; the list is left with the others.
[[nodiscard]] std::string_view take_item(std::string_view& list, char separator);

/// The query parameter `wait`: a duration of at most a day. Errors: `bad_request`.
[[nodiscard]] Result<std::chrono::milliseconds> parse_wait(std::string_view text);
/// The number of the header field or query parameter `name`. Errors: `bad_request`, with the name
/// and the range.
[[nodiscard]] Result<std::uint64_t> parse_number_field(std::string_view name, std::string_view text,
                                                       NumberRange range);

}  // namespace orchid::gateway
