// Functions for flows that go wrong.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "orchid/function.hpp"

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i <= count; ++i) all.push_back(i);
  return all;
}
ORCHID_FUNCTION(up_to)

std::uint64_t twice(std::uint64_t number) { return 2 * number; }
ORCHID_FUNCTION(twice)

std::uint64_t crashes_at_five(std::uint64_t number) {
  if (number == 5) std::abort();
  return number;
}
ORCHID_FUNCTION(crashes_at_five)

std::uint64_t throws_at_five(std::uint64_t number) {
  if (number == 5) throw std::invalid_argument("five is too many");
  return number;
}
ORCHID_FUNCTION(throws_at_five)

/// From the third on it never ends.
std::uint64_t stays_at_three(std::uint64_t number) {
  volatile bool for_ever = number >= 3;
  while (for_ever) {
  }
  return number;
}
ORCHID_FUNCTION(stays_at_three)

bool is_large(std::uint64_t number) { return number > 1000; }
ORCHID_FUNCTION(is_large)
