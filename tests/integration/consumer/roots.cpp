#include "roots.h"

#include <cmath>

#include "orchid/function.hpp"

std::vector<double> roots(std::span<const double> values) {
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = std::sqrt(values[i]);
  return result;
}
ORCHID_FUNCTION(roots)
