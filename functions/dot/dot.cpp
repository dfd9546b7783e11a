// functions/dot: the scalar product of two vectors: a typed function in one macro line.
#include <cstddef>
#include <span>
#include <stdexcept>

#include "orchid/function.hpp"

double dot(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("the two vectors have different lengths");
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

ORCHID_FUNCTION(dot)
