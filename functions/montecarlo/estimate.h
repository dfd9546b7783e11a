// functions/montecarlo/estimate.h: what the function gives, for its callers as well.
#pragma once
#include <cstdint>

#include "orchid/values.h"

namespace sampling {

struct Estimate {
  double mean;
  double standard_error;
  std::uint64_t pairs;  // at least as many as were asked for: whole groups
};
ORCHID_STRUCT(Estimate, mean, standard_error, pairs)

}  // namespace sampling
