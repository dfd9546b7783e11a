// benchmarks/flow_functions.cpp: functions that do next to nothing, for the benchmark `flow`.
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "orchid/function.hpp"

std::uint64_t same(std::uint64_t number) { return number; }
ORCHID_FUNCTION(same)

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{1});
  return all;
}
ORCHID_FUNCTION(up_to)

std::uint64_t sum(std::span<const std::uint64_t> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}
ORCHID_FUNCTION(sum)
