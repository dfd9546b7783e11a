// functions/idw: values at the points of a grid, from those of stations around: an entry that
// checks what it gets, prepares it, and launches a kernel.
#include "kernel.h"

#if ORCHID_HOST
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using interpolation::Grid;
using interpolation::Station;

constexpr std::uint64_t most_points = std::uint64_t{1} << 28;  // their values fill 1 GiB
constexpr float greatest_value = 1e15F;                        // times a weight it stays finite
constexpr double least_square = 1e-20;
constexpr double greatest_square = 1e36;

bool is_good(const Station& station) {
  return std::isfinite(station.x) && std::isfinite(station.y) &&
         std::abs(station.value) <= greatest_value;
}

void check(const Grid& grid, std::uint32_t power, std::span<const Station> stations) {
  if (grid.columns == 0 || grid.rows == 0 || std::uint64_t{grid.columns} * grid.rows > most_points)
    throw std::invalid_argument("a grid has 1 to 268435456 points");
  if (!std::isfinite(grid.left) || !std::isfinite(grid.bottom) || !(grid.step > 0))
    throw std::invalid_argument("the grid's corner must be finite, and its step above 0");
  if (power != 2 && power != 4 && power != 6 && power != 8)
    throw std::invalid_argument("the power is 2, 4, 6 or 8");
  if (stations.empty()) throw std::invalid_argument("at least one station is needed");
  if (!std::ranges::all_of(stations, is_good))
    throw std::invalid_argument(
        "a station's place must be finite, and its value between -1e15 and 1e15");
}

/// The square of a length that no distance between a point and a station exceeds.
double square_of_extent(const Grid& grid, std::span<const Station> stations) {
  double left = grid.left;
  double bottom = grid.bottom;
  double right = left + double{grid.step} * grid.columns;
  double top = bottom + double{grid.step} * grid.rows;
  for (const Station& station : stations) {
    left = std::min<double>(left, station.x);
    right = std::max<double>(right, station.x);
    bottom = std::min<double>(bottom, station.y);
    top = std::max<double>(top, station.y);
  }
  return (right - left) * (right - left) + (top - bottom) * (top - bottom);
}

/// Those that fill it up are infinitely far away: they weigh nothing, exactly.
std::vector<Station> fill_up(std::span<const Station> stations) {
  constexpr float far_away = std::numeric_limits<float>::infinity();
  std::vector<Station> all(stations.begin(), stations.end());
  while (all.size() % interpolation::stations_at_once != 0)
    all.push_back({.x = far_away, .y = far_away, .value = 0});
  return all;
}

}  // namespace

std::optional<std::vector<float>> idw(orchid::Call& call, const Grid& grid, std::uint32_t power,
                                      std::span<const Station> stations) {
  check(grid, power, stations);
  const double square = square_of_extent(grid, stations);
  if (square < least_square || square > greatest_square)
    throw std::invalid_argument("grid and stations must extend over 1e-10 to 1e18");
  const std::vector<Station> all = fill_up(stations);
  const std::size_t points = std::size_t{grid.columns} * grid.rows;
  const orchid::DeviceSpan<Station> on_device(call, all);
  const orchid::DeviceSpan<float> values(call, points);
  if (!on_device || !values) return std::nullopt;
  // Weights are then 1e-9 to 1e5, and their fourth powers 1e-36 to 1e20.
  if (!orchid::launch(call, idw_grid, points,
                      {.grid = grid,
                       .power = power,
                       .stations = on_device.data(),
                       .station_count = all.size(),
                       .least = static_cast<float>(square * 1e-14),
                       .scale = static_cast<float>(square * 1e-9),
                       .values = values.data()}))
    return std::nullopt;
  std::vector<float> result(points);
  if (!orchid::wait(call) || !values.copy_to(result)) return std::nullopt;
  return result;
}
ORCHID_FUNCTION(idw)
#endif
