#include "foundation/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

namespace orchid {
namespace {
struct Unit {
  std::string_view name;
  unsigned shift;
};
constexpr std::array<Unit, 4> units{{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};
}  // namespace

std::string to_string(ByteCount count) {
  for (const Unit& unit : units) {
    if (count.value >> unit.shift == 0) continue;
    const double amount =
        static_cast<double>(count.value) / static_cast<double>(1ULL << unit.shift);
    const bool whole = (count.value & ((1ULL << unit.shift) - 1)) == 0;
    return whole ? fmt::format("{} {}", count.value >> unit.shift, unit.name)
                 : fmt::format("{:.1f} {}", amount, unit.name);
  }
  return "0 B";
}

Result<ByteCount> parse_byte_count(std::string_view text) {
  std::uint64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  while (suffix.starts_with(' ')) suffix.remove_prefix(1);
  if (suffix.empty()) suffix = "B";
  for (const Unit& unit : units) {
    if (error != std::errc{} || suffix != unit.name) continue;
    if (amount > std::numeric_limits<std::uint64_t>::max() >> unit.shift) break;
    return ByteCount{amount << unit.shift};
  }
  return fail(
      ErrorCode::bad_request,
      fmt::format("'{}' is not a size; write a number and B, KiB, MiB or GiB, as in 64MiB", text));
}

}  // namespace orchid
