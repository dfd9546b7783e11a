// invocations/invocation_id.h: ids of invocations: "i-" and 16 hexadecimal digits, of which the
// first two say who made it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orchid::gateway {

/// Who looks after an invocation: 0 is the control thread, n the n-th HTTP thread.
using InvocationHome = unsigned;
constexpr InvocationHome control_home = 0;
constexpr InvocationHome last_home = 255;

/// Owned by one thread. Ids begin at a random number, so that those of two runs of the gateway do
/// not meet.
class InvocationIds {
 public:
  explicit InvocationIds(InvocationHome home);
  /// A number whose text is `format_invocation_id(number)`.
  [[nodiscard]] std::uint64_t next();

 private:
  std::uint64_t home_bits_;
  std::uint64_t counter_;
};

[[nodiscard]] std::string format_invocation_id(std::uint64_t number);
[[nodiscard]] std::optional<std::uint64_t> parse_invocation_id(std::string_view text);
[[nodiscard]] InvocationHome home_of(std::uint64_t number);

}  // namespace orchid::gateway
