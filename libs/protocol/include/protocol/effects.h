// protocol/effects.h: how a module says that running one of its calls twice is not the same as
// running it once (docs/PROTOCOL.md §6): what it declares (ORCHID_EFFECT), and the host calls that
// act on the outside and cannot be repeated without harm.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace orchid {

/// Of a constant for each effect that a module declares.
constexpr std::string_view effect_prefix = "orchid_effect_";

/// Host calls that change what others see with each run. Writing the same bytes again, and data
/// objects, which nobody sees before the call has succeeded, are not among them.
constexpr std::array<std::string_view, 2> effect_calls{"orchid_leased_compare_swap",
                                                       "orchid_leased_fetch_add"};
[[nodiscard]] constexpr bool is_effect_call(std::string_view name) {
  return std::ranges::find(effect_calls, name) != effect_calls.end();
}

}  // namespace orchid
