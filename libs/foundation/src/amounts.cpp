#include "foundation/amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "foundation/numbers.h"

namespace orchid {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<std::pair<std::string_view, unsigned>, 5> size_shifts{
    {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}}};

struct TimeUnit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<TimeUnit, 9> time_units{{{"d", 86'400'000'000'000},
                                              {"h", 3'600'000'000'000},
                                              {"m", 60'000'000'000},
                                              {"min", 60'000'000'000},
                                              {"s", 1'000'000'000},
                                              {"", 1'000'000'000},
                                              {"ms", 1'000'000},
                                              {"us", 1'000},
                                              {"ns", 1}}};

void skip_blanks(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
}

std::unexpected<Failure> refuse(std::string_view text, std::string_view expected) {
  return fail(ErrorCode::bad_request, fmt::format("'{}' is not {}", text.substr(0, 40), expected));
}

/// In nanoseconds. With a number before each unit: "1h 30m".
std::optional<double> sum_of_parts(std::string_view text) {
  double total = 0;
  skip_blanks(text);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto amount = take_number<double>(text);
    if (!amount || !(*amount >= 0)) return std::nullopt;
    skip_blanks(text);
    const std::string_view name = text.substr(0, text.find_first_of(" 0123456789."));
    const auto* const unit = std::ranges::find(time_units, name, &TimeUnit::name);
    if (unit == time_units.end()) return std::nullopt;
    total += *amount * static_cast<double>(unit->nanoseconds);
    text.remove_prefix(name.size());
    skip_blanks(text);
  }
  return total;
}

/// In nanoseconds. With colons, as Slurm writes it.
std::optional<double> clock_time(std::string_view text) {
  constexpr std::uint32_t largest_part = 100'000;
  std::uint32_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto number = parse_number<std::uint32_t>(text.substr(0, dash));
    if (!number || *number > largest_part) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::int64_t seconds = 0;
  int parts = 0;
  for (bool more = true; more;) {
    const auto part = take_number<std::uint32_t>(text);
    if (!part || *part > largest_part || ++parts > 3) return std::nullopt;
    seconds = seconds * 60 + *part;
    more = text.starts_with(':');
    if (more) text.remove_prefix(1);
  }
  if (!text.empty() || (dash != std::string_view::npos && parts != 3)) return std::nullopt;
  return static_cast<double>(days * std::int64_t{86'400} + seconds) * 1e9;
}

std::string words_of(SizeRange range) {
  if (range.most < SizeRange{}.most)
    return fmt::format(" from {} to {}", to_string(range.least), to_string(range.most));
  return range.least == ByteCount{} ? "" : fmt::format(" of {} or more", to_string(range.least));
}

}  // namespace

Result<std::uint64_t> parse_whole_number(std::string_view text, NumberRange range) {
  const auto number = parse_number<std::uint64_t>(text);
  if (number && *number >= range.least && *number <= range.most) return *number;
  return refuse(text, fmt::format("a whole number from {} to {}", range.least, range.most));
}

Result<ByteCount> parse_byte_count(std::string_view text, SizeRange range) {
  std::string_view unit = text;
  const auto amount = take_number<std::uint64_t>(unit);
  skip_blanks(unit);
  for (const auto& [name, shift] : size_shifts) {
    if (!amount || unit != name || *amount > SizeRange{}.most.value >> shift) continue;
    const ByteCount size{*amount << shift};
    if (size >= range.least && size <= range.most) return size;
  }
  return refuse(text, fmt::format("a size{}; write a number and B, KiB, MiB or GiB, as in 64MiB",
                                  words_of(range)));
}

Result<nanoseconds> parse_duration(std::string_view text, DurationRange range) {
  const bool has_colon = text.find(':') != std::string_view::npos;
  const auto total = has_colon ? clock_time(text) : sum_of_parts(text);
  if (total && *total >= static_cast<double>(range.least.count()) &&
      *total <= static_cast<double>(range.most.count()))
    return nanoseconds(std::llround(*total));
  return refuse(text,
                fmt::format("a duration from {} to {}; write 250ms, 30s, '1h 30m' or 01:30:00",
                            to_duration_text(range.least), to_duration_text(range.most)));
}

std::string to_duration_text(nanoseconds duration) {
  std::string text;
  std::int64_t left = duration.count();
  for (const auto& [name, size] : time_units) {
    if (left < size || name.empty()) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", left / size, name);
    left %= size;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace orchid
