// functions/edges/tile.h: a part of an image.
#pragma once
#include <cstdint>

#include "orchid/values.h"

namespace edges {

struct Tile {
  std::uint32_t left;
  std::uint32_t top;
  std::uint32_t width;
  std::uint32_t height;
};
ORCHID_STRUCT(Tile, left, top, width, height)

}  // namespace edges
