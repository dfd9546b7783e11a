// foundation/numbers.h: decimal numbers in text. Nothing but this header is needed, no memory is
// allocated and nothing is thrown, and C++20 is enough: the plugin in Slurm's programs reads with
// it too. Amounts that people write are in foundation/amounts.h.
#pragma once
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace orchid {

/// The number that `text` begins with, which it loses; only signed types take a '-', none a '+' or
/// blanks. Nothing, and `text` stays as it is: it begins with no number, or with one that does not
/// fit into the type.
template <typename Number>
[[nodiscard]] std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

/// The number that `text` begins with, whatever follows.
template <typename Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text) {
  return take_number<Number>(text);
}

/// The number that all of `text` is.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  const auto number = take_number<Number>(text);
  if (!text.empty()) return std::nullopt;
  return number;
}

}  // namespace orchid
