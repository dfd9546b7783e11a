// Functions for flows that are optimised: one takes as many pieces as it is given.
#include <cstdint>
#include <span>
#include <vector>

#include "orchid/function.hpp"

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i <= count; ++i) all.push_back(i);
  return all;
}
ORCHID_FUNCTION(up_to)

std::vector<std::uint64_t> doubles(std::span<const std::uint64_t> numbers) {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t number : numbers) all.push_back(2 * number);
  return all;
}
ORCHID_FUNCTION(doubles)

std::uint64_t total(std::span<const std::uint64_t> numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t number : numbers) sum += number;
  return sum;
}
ORCHID_FUNCTION(total)
