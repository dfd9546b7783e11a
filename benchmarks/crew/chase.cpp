#include "crew/chase.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace orchid::bench {
namespace {

std::vector<std::uint64_t> random_cycle(unsigned members) {
  std::mt19937_64 random(members);
  std::vector<std::uint64_t> cycle(std::uint64_t{members} * ChaseTable::entries_each);
  std::iota(cycle.begin(), cycle.end(), std::uint64_t{0});
  std::ranges::shuffle(cycle, random);
  return cycle;
}

/// In each lap all members come once, in a new order that does not begin where the last one ended.
std::vector<std::uint64_t> leaving_cycle(unsigned members) {
  constexpr unsigned entries_each = ChaseTable::entries_each;
  std::mt19937_64 random(members);
  std::vector<std::vector<std::uint64_t>> left(members);
  for (unsigned member = 0; member < members; ++member) {
    left[member].resize(entries_each);
    std::iota(left[member].begin(), left[member].end(), std::uint64_t{member} * entries_each);
    std::ranges::shuffle(left[member], random);
  }
  std::vector<unsigned> lap(members);
  std::iota(lap.begin(), lap.end(), 0U);
  std::vector<std::uint64_t> cycle;
  for (unsigned turn = 0; turn < entries_each; ++turn) {
    const unsigned before = lap.back();
    if (members > 2 && turn + 1 < entries_each) {
      std::ranges::shuffle(lap, random);
      if (lap.front() == before) std::swap(lap.front(), lap.back());
      // The last lap is in the order of the numbers, and the first one begins with 0.
      if (turn + 2 == entries_each && lap.back() == 0) std::swap(lap.back(), lap[1]);
    } else {
      std::ranges::sort(lap);
    }
    for (const unsigned member : lap) {
      cycle.push_back(left[member].back());
      left[member].pop_back();
    }
  }
  return cycle;
}

}  // namespace

ChaseTable::ChaseTable(unsigned members, ChaseOrder order)
    : next_(std::uint64_t{members} * entries_each) {
  const auto cycle = order == ChaseOrder::random ? random_cycle(members) : leaving_cycle(members);
  for (std::size_t i = 0; i < cycle.size(); ++i) next_[cycle[i]] = cycle[(i + 1) % cycle.size()];
}

}  // namespace orchid::bench
