// functions/montecarlo/kernel.h: distances between pairs of random points in the unit cube, summed
// up by groups.
//
// The same bits come out on cores and GPUs, for any number of threads: a pair's random numbers
// depend on its number alone, the sums of a group are added as a tree, and the entry adds those of
// the groups in their order.
#pragma once
#include "orchid/kernel.hpp"
#include "philox.h"

namespace sampling {

constexpr uint32_t group_size = 256;
constexpr uint32_t pairs_of_item = 64;
constexpr uint32_t pairs_of_group = group_size * pairs_of_item;

struct Sums {
  float distances;
  float squares;
};

struct Args {
  philox::Key key;
  Sums* sums;  // one for each group
};

/// sqrtf would set errno, which keeps a loop scalar.
inline float square_root(float value) {
#ifdef __clang__
  return __builtin_elementwise_sqrt(value);
#else
  return sqrtf(value);
#endif
}

inline float squared_distance(const philox::Key& key, uint64_t item, uint32_t pair) {
  const auto low = static_cast<uint32_t>(item);
  const auto high = static_cast<uint32_t>(item >> 32);
  const philox::Counter one = philox::random_words({{low, high, pair, 0}}, key);
  const philox::Counter other = philox::random_words({{low, high, pair, 1}}, key);
  const float dx = philox::unit_interval(one.words[0]) - philox::unit_interval(other.words[0]);
  const float dy = philox::unit_interval(one.words[1]) - philox::unit_interval(other.words[1]);
  const float dz = philox::unit_interval(one.words[2]) - philox::unit_interval(other.words[2]);
  return fmaf(dx, dx, fmaf(dy, dy, dz * dz));
}

}  // namespace sampling

/// Whole groups only.
ORCHID_GROUP_KERNEL(random_distances, sampling::Args, sampling::group_size) {
  ORCHID_LOCAL(float, distances, sampling::group_size);
  ORCHID_LOCAL(float, squares, sampling::group_size);
  ORCHID_ITEMS {
    distances[local] = 0;
    squares[local] = 0;
  }
  for (uint32_t pair = 0; pair < sampling::pairs_of_item; ++pair) {
    ORCHID_ITEMS {
      const float squared = sampling::squared_distance(args.key, item, pair);
      distances[local] += sampling::square_root(squared);
      squares[local] += squared;
    }
  }
  for (uint32_t half = sampling::group_size / 2; half > 0; half /= 2) {
    ORCHID_ITEMS {
      if (local < half) {
        distances[local] += distances[local + half];
        squares[local] += squares[local + half];
      }
    }
  }
  ORCHID_ITEMS {
    if (local == 0) args.sums[group] = {.distances = distances[0], .squares = squares[0]};
  }
}
