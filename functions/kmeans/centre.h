// functions/kmeans/centre.h: a centre of a cluster.
#pragma once
#include "orchid/values.h"

namespace kmeans {

struct Centre {
  double x;
  double y;
  double moved;  // how far, in the last step
};
ORCHID_STRUCT(Centre, x, y, moved)

}  // namespace kmeans
