// functions/insitu/extremes.h: what is told of a field.
#pragma once
#include <cstdint>

#include "orchid/values.h"

namespace insitu {

struct Extremes {
  double least;
  double greatest;
  double sum;
  std::uint64_t hottest;  // the number of the cell, row by row
};
ORCHID_STRUCT(Extremes, least, greatest, sum, hottest)

}  // namespace insitu
