// A typed function: `orchid build scale.cpp && orchid deploy scale.orc`.
#include <span>
#include <vector>

#include "orchid/function.hpp"

std::vector<double> scale(double factor, std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= factor;
  return result;
}
ORCHID_FUNCTION(scale)
