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

std::uint64_t sum(std::span<const std::uint64_t> numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t number : numbers) sum += number;
  return sum;
}
ORCHID_FUNCTION(sum)

/// For a master: four pieces at first, and another one when these have been doubled and gathered.
std::vector<std::uint64_t> hand_out(std::uint64_t gathered) {
  if (gathered == 0) return {1, 2, 3, 4};
  return gathered == 20 ? std::vector<std::uint64_t>{5} : std::vector<std::uint64_t>{};
}
ORCHID_FUNCTION(hand_out)

std::uint64_t add(std::uint64_t gathered, std::uint64_t number) { return gathered + number; }
ORCHID_FUNCTION(add)

/// For a division: two parts, and none where a problem is small enough.
std::vector<std::uint64_t> halves(std::uint64_t size) {
  if (size <= 2) return {};
  return {size / 2, size - size / 2};
}
ORCHID_FUNCTION(halves)

bool is_large(std::uint64_t number) { return number > 1000; }
ORCHID_FUNCTION(is_large)
