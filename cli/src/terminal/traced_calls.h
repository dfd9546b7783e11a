// terminal/traced_calls.h: calls of a lease that its program has traced, as GET
// /v1/leases/ID/calls has them, for people.
#pragma once
#include <string>

namespace orchid::cli {

/// A line for each call, and one for where it went: "1 walk 12 us > 2 walk 3 us". Throws
/// orchid::Error when `text` is no such document.
[[nodiscard]] std::string paths_text(const std::string& text);
/// What each has logged, with a line for each of its steps.
[[nodiscard]] std::string logs_text(const std::string& text);

}  // namespace orchid::cli
