#include "embedded_functions.h"

#include <stdexcept>

#include "orchid/function.hpp"

double scalar_product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}
ORCHID_FUNCTION(scalar_product)

std::string greeting_with_call(orchid::Call& call, std::string_view name) {
  return (call.should_stop() ? "stop, " : "hello, ") + std::string(name);
}
ORCHID_FUNCTION(greeting_with_call)

std::int32_t refuses(std::int32_t number) {
  throw std::runtime_error("no " + std::to_string(number));
}
ORCHID_FUNCTION(refuses)

std::vector<double> scaled(std::span<const double> values, double factor) {
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= factor;
  return result;
}
ORCHID_FUNCTION(scaled)
