// http/request_options.h: what callers ask for in header fields and query parameters. Pure
// functions.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "functions/function_registry.h"
#include "http/request.h"

namespace orchid::gateway {

/// RFC 7240. What is not understood is ignored, as the RFC says.
struct Preferences {
  bool respond_async = false;
  std::optional<std::chrono::seconds> wait;
};
[[nodiscard]] Preferences parse_prefer(std::string_view value);

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

/// If-Match and If-None-Match. Errors: `bad_request`.
[[nodiscard]] Result<Precondition> parse_precondition(const Request& request);

/// The query parameter `concurrency`: how many calls of a function may run at once. Nothing: it is
/// not there. Errors: `bad_request`.
[[nodiscard]] Result<std::optional<unsigned>> parse_concurrency(const Request& request);

struct InvocationOptions {
  std::chrono::milliseconds deadline;  // from acceptance
  std::chrono::milliseconds wait;      // of the caller; at least `deadline`: to the end
  bool respond_async = false;
  bool at_most_once = false;
  std::optional<std::string> idempotency_key;
};
struct InvocationDefaults {
  std::chrono::milliseconds deadline{60'000};
  std::chrono::milliseconds async_deadline{3'600'000};
  std::chrono::milliseconds wait{30'000};
};
/// Errors: `bad_request`.
[[nodiscard]] Result<InvocationOptions> parse_invocation_options(
    const Request& request, const InvocationDefaults& defaults);
/// The signature that the caller expects against the entry's. Errors: `bad_request`, with both.
[[nodiscard]] Result<void> check_signature(std::string_view expected,
                                           const std::optional<std::string>& actual);

}  // namespace orchid::gateway
