// functions/integral: slices of the integral of 4 / (1 + x²), which is pi from 0 to 1.
#include "slice_integrals.h"

#include "orchid/function.hpp"

std::vector<double> slice_integrals(std::span<const double> lefts, double width,
                                    std::uint64_t points) {
  const double step = width / static_cast<double>(points);
  std::vector<double> integrals(lefts.size());
  for (std::size_t i = 0; i < lefts.size(); ++i) {
    double sum = 0;
    for (std::uint64_t k = 0; k < points; ++k) {
      const double x = lefts[i] + (static_cast<double>(k) + 0.5) * step;
      sum += 4.0 / (1.0 + x * x);
    }
    integrals[i] = sum * step;
  }
  return integrals;
}
ORCHID_FUNCTION(slice_integrals)
