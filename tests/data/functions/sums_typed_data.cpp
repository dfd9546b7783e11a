// Expected: ok with data objects of doubles and of 32-bit integers: the output is the sum of the
// former, times the input, plus the sum of the latter. bad_request with other data objects.
#include <numeric>

#include "orchid/function.hpp"

static double sums_typed_data(orchid::Data<double> values, double factor,
                              const orchid::Data<std::int32_t>& more) {
  return std::accumulate(values.begin(), values.end(), 0.0) * factor +
         static_cast<double>(std::accumulate(more.begin(), more.end(), std::int64_t{0}));
}
ORCHID_FUNCTION(sums_typed_data)
