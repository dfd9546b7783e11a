// functions/idw: a grid in bands of rows, for the flow in idw.yaml.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "orchid/function.hpp"
#include "stations.h"

/// About `count` grids that are the whole one together, in the order of its rows.
std::vector<interpolation::Grid> bands(const interpolation::Grid& grid, std::uint32_t count) {
  if (count == 0 || grid.rows == 0)
    throw std::invalid_argument("a grid with rows is cut into one band at least");
  const std::uint32_t rows = (grid.rows - 1) / std::min(count, grid.rows) + 1;
  std::vector<interpolation::Grid> all;
  for (std::uint32_t row = 0; row < grid.rows; row += std::min(rows, grid.rows - row)) {
    interpolation::Grid& band = all.emplace_back(grid);
    band.bottom = std::fma(grid.step, static_cast<float>(row), grid.bottom);
    band.rows = std::min(rows, grid.rows - row);
  }
  return all;
}
ORCHID_FUNCTION(bands)
