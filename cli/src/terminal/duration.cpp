#include "terminal/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

namespace orchid::cli {
namespace {

std::unexpected<Failure> no_duration(std::string_view text) {
  return fail(ErrorCode::bad_request,
              fmt::format("'{}' is not a duration; write 250ms, 30s, '1h 5m' or 01:30:00", text));
}

std::optional<double> nanoseconds_in(std::string_view unit) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"ns", 1},     {"us", 1e3},   {"ms", 1e6},        {"s", 1e9}, {"m", 60e9},
      {"min", 60e9}, {"h", 3600e9}, {"d", 24 * 3600e9}, {"", 1e9}};
  for (const auto& [name, size] : units)
    if (name == unit) return size;
  return std::nullopt;
}

void skip_spaces(std::string_view& rest) {
  while (rest.starts_with(' ')) rest.remove_prefix(1);
}

/// HH:MM:SS or MM:SS.
Result<std::chrono::nanoseconds> parse_clock(std::string_view text) {
  std::int64_t seconds = 0;
  std::string_view rest = text;
  for (int part = 0; part < 3; ++part) {
    unsigned value = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (parsed.ec != std::errc{} || value > 100'000) return no_duration(text);
    seconds = seconds * 60 + value;
    rest.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest.data()));
    if (rest.empty()) return std::chrono::seconds(seconds);
    if (!rest.starts_with(':')) return no_duration(text);
    rest.remove_prefix(1);
  }
  return no_duration(text);
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return parse_clock(text);
  constexpr double longest = 365.0 * 24 * 3600e9;
  double total = 0;
  std::string_view rest = text;
  skip_spaces(rest);
  if (rest.empty()) return no_duration(text);
  while (!rest.empty()) {
    double value = 0;
    const auto parsed =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::fixed);
    if (parsed.ec != std::errc{} || !(value >= 0)) return no_duration(text);
    rest.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest.data()));
    skip_spaces(rest);
    const auto end = rest.find_first_of(" 0123456789.");
    const auto unit = nanoseconds_in(rest.substr(0, end));
    if (!unit) return no_duration(text);
    total += value * *unit;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
    skip_spaces(rest);
  }
  if (total > longest) return no_duration(text);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(total));
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const auto count = static_cast<double>(duration.count());
  if (count < 1e3) return fmt::format("{} ns", duration.count());
  if (count < 1e6) return fmt::format("{:.4g} µs", count / 1e3);
  if (count < 1e9) return fmt::format("{:.4g} ms", count / 1e6);
  return fmt::format("{:.4g} s", count / 1e9);
}

}  // namespace orchid::cli
