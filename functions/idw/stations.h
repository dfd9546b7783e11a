// functions/idw/stations.h: what the function idw takes, for its callers as well.
#pragma once
#include "orchid/kernel.h"
#if ORCHID_HOST
#include "orchid/values.h"
#endif

namespace interpolation {

/// A measured value.
struct Station {
  float x;
  float y;
  float value;
};

/// The points whose values are wanted: columns * rows of them, `step` apart, row by row from (left,
/// bottom) on.
struct Grid {
  float left;
  float bottom;
  float step;
  uint32_t columns;
  uint32_t rows;
};

#if ORCHID_HOST
ORCHID_STRUCT(Station, x, y, value)
ORCHID_STRUCT(Grid, left, bottom, step, columns, rows)
#endif

}  // namespace interpolation
