#include "foundation/units.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

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

}  // namespace orchid
