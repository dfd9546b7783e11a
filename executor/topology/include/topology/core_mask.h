// topology/core_mask.h: cores as the kernel takes them.
#pragma once
#include <sched.h>

#include <cstdint>
#include <span>

namespace orchid::executor {

/// Without those that no machine has.
[[nodiscard]] inline cpu_set_t core_mask(std::span<const std::uint32_t> cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const std::uint32_t core : cores)
    if (core < CPU_SETSIZE) CPU_SET(core, &mask);
  return mask;
}

}  // namespace orchid::executor
