#include "http/request_options.h"

#include <algorithm>
#include <charconv>

#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t longest_deadline_ms =
    std::chrono::duration_cast<milliseconds>(limits::longest_deadline).count();

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_item(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view item = trim_blanks(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

Result<milliseconds> parse_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_digits(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  std::uint64_t factor = 0;
  if (unit.empty() || unit == "s") factor = 1000;
  if (unit == "ms") factor = 1;
  if (unit == "m") factor = 60'000;
  if (unit == "h") factor = 3'600'000;
  if (!number || factor == 0 || *number > longest_deadline_ms / factor)
    return fail(ErrorCode::bad_request,
                "'" + std::string(text.substr(0, 40)) +
                    "' is not a duration of at most 24h: write it like 30s, 500ms or 2m");
  return milliseconds(*number * factor);
}

Result<std::uint64_t> parse_number(std::string_view text, NumberRange range) {
  const auto number = parse_digits(text);
  if (number && *number >= range.least && *number <= range.most) return *number;
  return fail(ErrorCode::bad_request, std::string(range.what) + " must be a number from " +
                                          std::to_string(range.least) + " to " +
                                          std::to_string(range.most) + ", not '" +
                                          std::string(text.substr(0, 40)) + "'");
}

}  // namespace orchid::gateway
