// benchmarks/idw_mpi/work.h: what Orchid and the MPI program compute: 2^33 pairs of a point and a
// station.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "idw/stations.h"

namespace orchid::bench::work {

inline constexpr std::uint32_t side = 2048;
inline constexpr interpolation::Grid grid{
    .left = 0, .bottom = 0, .step = 1, .columns = side, .rows = side};
inline constexpr std::uint32_t power = 2;
inline std::vector<interpolation::Station> stations() {
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  std::vector<interpolation::Station> all(2048);
  for (interpolation::Station& station : all)
    station = {.x = side * number(), .y = side * number(), .value = number()};
  return all;
}

}  // namespace orchid::bench::work
