// colocation/colocation_site.h: executors that are reached over the lane under test.
#pragma once
#include "lane_under_test.h"
#include "site.h"

namespace orchid::tests {

struct ColocationSite : Site {
  ColocationSite() : Site(lane_under_test() == LaneKind::ucx ? "elsewhere" : "") {}
};

}  // namespace orchid::tests
