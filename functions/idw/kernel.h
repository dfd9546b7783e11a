// functions/idw/kernel.h: inverse distance weighting (Shepard 1968): the value of a point is the
// mean of all stations' values, weighted by 1 / distance^power.
//
// It is a group kernel for the sake of the cores. The loop over the stations goes around the one
// over the group's items, so that the innermost loop takes 16 points at once (AVX-512) where a
// kernel with one loop over all stations for each item stays scalar. What an item keeps from one
// block of stations to the next lies in local memory.
//
// Cores and GPUs give the same bits: there is no call of libm, each multiplication with an addition
// is an fmaf, and division is exact on both.
#pragma once
#include "orchid/kernel.hpp"
#include "stations.h"

namespace interpolation {

/// The list of stations is filled up to a multiple of this, so that no rest is left over.
constexpr uint32_t stations_at_once = 8;
constexpr uint32_t group_size = 256;

struct Args {
  Grid grid;
  uint32_t power;  // 2, 4, 6 or 8
  const Station* stations;
  uint64_t station_count;  // a multiple of stations_at_once
  float least;             // squared distances below it count as it
  float scale;             // of all weights: keeps their powers within what a float can hold
  float* values;
};

/// 1 / distance^power, but for the scale.
template <uint32_t power>
inline float weight_at(float squared_distance, float scale) {
  const float square = scale / squared_distance;
  if constexpr (power == 2) return square;
  const float fourth = square * square;
  if constexpr (power == 4) return fourth;
  return power == 6 ? square * fourth : fourth * fourth;
}
/// The power is the same for all items: it is decided outside of the loops, each of which then
/// holds no more than its own power needs.
template <uint32_t power>
struct Power {};

}  // namespace interpolation

ORCHID_GROUP_KERNEL(idw_grid, interpolation::Args, interpolation::group_size) {
  ORCHID_LOCAL(float, x, interpolation::group_size);
  ORCHID_LOCAL(float, y, interpolation::group_size);
  ORCHID_LOCAL(float, sum, interpolation::group_size);
  ORCHID_LOCAL(float, weights, interpolation::group_size);
  ORCHID_ITEMS {
    const auto point = static_cast<uint32_t>(item);
    const uint32_t row = point / args.grid.columns;
    x[local] =
        fmaf(args.grid.step, static_cast<float>(point - row * args.grid.columns), args.grid.left);
    y[local] = fmaf(args.grid.step, static_cast<float>(row), args.grid.bottom);
    sum[local] = 0;
    weights[local] = 0;
  }
  const auto add_stations = [&]<uint32_t power>(interpolation::Power<power>) {
    for (uint64_t first = 0; first < args.station_count; first += interpolation::stations_at_once) {
      ORCHID_ITEMS {
        float own_sum = sum[local];
        float own_weights = weights[local];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < interpolation::stations_at_once; ++i) {
          const interpolation::Station& station = args.stations[first + i];
          const float dx = station.x - x[local];
          const float dy = station.y - y[local];
          const float squared = fmaf(dx, dx, dy * dy);
          const float weight = interpolation::weight_at<power>(
              squared < args.least ? args.least : squared, args.scale);
          own_sum = fmaf(weight, station.value, own_sum);
          own_weights += weight;
        }
        sum[local] = own_sum;
        weights[local] = own_weights;
      }
    }
  };
  switch (args.power) {
    case 2:
      add_stations(interpolation::Power<2>());
      break;
    case 4:
      add_stations(interpolation::Power<4>());
      break;
    case 6:
      add_stations(interpolation::Power<6>());
      break;
    default:
      add_stations(interpolation::Power<8>());
  }
  ORCHID_ITEMS { args.values[item] = sum[local] / weights[local]; }
}
