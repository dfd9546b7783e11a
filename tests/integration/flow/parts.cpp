// Functions for flows that go wrong. With MENDED they do not, and give 1000 more, so that it shows
// which of them has made a result.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <vector>

#include "orchid/function.hpp"

#ifdef MENDED
constexpr bool is_mended = true;
#else
constexpr bool is_mended = false;
#endif
constexpr std::uint64_t more = is_mended ? 1000 : 0;

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i <= count; ++i) all.push_back(i);
  return all;
}
ORCHID_FUNCTION(up_to)

std::uint64_t twice(std::uint64_t number) { return 2 * number + more; }
ORCHID_FUNCTION(twice)

std::uint64_t crashes_at_five(std::uint64_t number) {
  if (number == 5) std::abort();
  return number;
}
ORCHID_FUNCTION(crashes_at_five)

std::uint64_t throws_at_five(std::uint64_t number) {
  if (number == 5 && !is_mended) throw std::invalid_argument("five is too many");
  return number + more;
}
ORCHID_FUNCTION(throws_at_five)

/// From the third on it never ends.
std::uint64_t stays_at_three(std::uint64_t number) {
  volatile bool for_ever = number >= 3 && !is_mended;
  while (for_ever) {
  }
  return number + more;
}
ORCHID_FUNCTION(stays_at_three)

/// Two seconds.
std::uint64_t naps(std::uint64_t number) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
  }
  return number;
}
ORCHID_FUNCTION(naps)

std::vector<std::uint8_t> much(std::uint64_t size) { return std::vector<std::uint8_t>(size); }
ORCHID_FUNCTION(much)

std::uint64_t size_of(std::span<const std::uint8_t> bytes) { return bytes.size(); }
ORCHID_FUNCTION(size_of)

std::uint64_t length(std::span<const std::uint64_t> numbers) { return numbers.size(); }
ORCHID_FUNCTION(length)

bool is_large(std::uint64_t number) { return number > 1000; }
ORCHID_FUNCTION(is_large)
