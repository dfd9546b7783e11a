// Functions of flows that take long enough to be killed in the middle.
#include <chrono>
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

/// Computes for a tenth of a second.
std::uint64_t slowly(std::uint64_t number) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < end) {
  }
  return 2 * number;
}
ORCHID_FUNCTION(slowly)

std::uint64_t sum(const std::vector<std::uint64_t>& numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t number : numbers) sum += number;
  return sum;
}
ORCHID_FUNCTION(sum)

std::uint64_t throws_at_five(std::uint64_t number) {
  if (number == 5) throw std::invalid_argument("five is too many");
  return number;
}
ORCHID_FUNCTION(throws_at_five)

std::uint64_t crashes_at_five(std::uint64_t number) {
  if (number == 5) std::abort();
  return number;
}
ORCHID_FUNCTION(crashes_at_five)

std::vector<std::uint8_t> much(std::uint64_t size) { return std::vector<std::uint8_t>(size); }
ORCHID_FUNCTION(much)

std::uint64_t size_of(const std::vector<std::uint8_t>& bytes) { return bytes.size(); }
ORCHID_FUNCTION(size_of)

std::uint64_t never_ends(std::uint64_t number) {
  volatile bool for_ever = true;
  while (for_ever) {
  }
  return number;
}
ORCHID_FUNCTION(never_ends)
