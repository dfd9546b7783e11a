// functions/sweep/run.h: what one run of the sweep gives.
#pragma once
#include "orchid/values.h"

namespace sweep {

struct Run {
  double drag;
  double cost;  // metres
};
ORCHID_STRUCT(Run, drag, cost)

}  // namespace sweep
