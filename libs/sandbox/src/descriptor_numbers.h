// descriptor_numbers.h: conditions on the number of a descriptor, which a filter sees as 64 bits.
#pragma once
#include <cstdint>
#include <vector>

#include "sandbox/allowed_calls.h"

namespace orchid {

/// The descriptors from `first` on: one of these conditions holds. Each is about all 64 bits: the
/// kernel looks at the lower half alone, so a number that is only not small may be any descriptor.
inline std::vector<ArgumentCondition> descriptors_from(int first, unsigned argument) {
  constexpr std::uint64_t end = 1ULL << 20U;  // more than a process may have
  std::vector<ArgumentCondition> blocks;
  for (auto at = static_cast<std::uint64_t>(first); at < end;) {
    const std::uint64_t size = at == 0 ? end : at & (~at + 1);
    blocks.push_back({.argument = argument, .mask = ~(size - 1), .value = at});
    at += size;
  }
  return blocks;
}

}  // namespace orchid
