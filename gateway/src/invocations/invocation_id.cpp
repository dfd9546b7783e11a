#include "invocations/invocation_id.h"

#include <array>
#include <cassert>
#include <span>

#include "foundation/random.h"

namespace orchid::gateway {
namespace {
constexpr unsigned home_shift = 56;
constexpr std::uint64_t counter_mask = (std::uint64_t{1} << home_shift) - 1;
constexpr std::size_t digits = 16;
}  // namespace

InvocationIds::InvocationIds(InvocationHome home) : home_bits_(std::uint64_t{home} << home_shift) {
  assert(home <= last_home);
  std::uint64_t start = 0;
  fill_random(std::as_writable_bytes(std::span(&start, 1)));
  counter_ = start & counter_mask;
}

std::uint64_t InvocationIds::next() {
  counter_ = (counter_ + 1) & counter_mask;
  return home_bits_ | counter_;
}

std::string format_invocation_id(std::uint64_t number) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text(2 + digits, 'i');
  text[1] = '-';
  for (std::size_t i = 0; i < digits; ++i) {
    text[1 + digits - i] = hex[number & 15U];
    number >>= 4U;
  }
  return text;
}

std::optional<std::uint64_t> parse_invocation_id(std::string_view text) {
  if (text.size() != 2 + digits || !text.starts_with("i-")) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text.substr(2)) {
    number <<= 4U;
    if (c >= '0' && c <= '9') {
      number |= static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      number |= static_cast<std::uint64_t>(c - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return number;
}

InvocationHome home_of(std::uint64_t number) {
  return static_cast<InvocationHome>(number >> home_shift);
}

}  // namespace orchid::gateway
