// name_list.h: enumerators by their names in messages.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace orchid {

/// The enumerator whose name this is. `names` are in the order of the enumeration, from 0.
template <typename Value, std::size_t count>
std::optional<Value> find_name(const std::array<std::string_view, count>& names,
                               std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace orchid
