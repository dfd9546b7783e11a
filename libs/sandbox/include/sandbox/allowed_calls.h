// sandbox/allowed_calls.h: the system calls that user code keeps, as a table: the filter is made of
// it, `orchid doctor --sandbox` prints it, and tests try every number against it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/confinement.h"

namespace orchid {

/// What an argument must be, as the 64 bits that the kernel is given.
struct ArgumentCondition {
  unsigned argument = 0;  // from 0
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint64_t value = 0;
  [[nodiscard]] bool holds(std::uint64_t seen) const;
};

/// A call that is allowed when all of the conditions hold; another entry may allow the same call
/// under others. What no entry allows fails with EPERM, `clone3` with ENOSYS.
struct AllowedCall {
  int number = 0;
  std::string name;
  std::string_view only;  // the conditions in words; empty: there are none
  std::vector<ArgumentCondition> conditions;
};

/// After stage 2 in this process, which is the one that conditions mean by "itself"; by name.
[[nodiscard]] std::vector<AllowedCall> calls_of_user_code(const ConfinementOptions& options);

}  // namespace orchid
