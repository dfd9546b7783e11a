#include "offloaded_functions.h"

#include <unistd.h>

#include <stdexcept>

#include "orchid/function.hpp"

double slow_root(double value) {
  double root = value + 1;
  for (int step = 0; step < 30; ++step) root = 0.5 * (root + value / root);  // Newton
  return root;
}

std::vector<double> slow_roots(std::span<const double> values) {
  std::vector<double> roots;
  roots.reserve(values.size());
  for (const double value : values) roots.push_back(slow_root(value));
  return roots;
}
ORCHID_FUNCTION(slow_roots)

std::vector<double> fails_in_a_worker(std::span<const double> values, bool crashes,
                                      std::int32_t home) {
  if (getpid() != home && crashes) __builtin_trap();
  if (getpid() != home) throw std::runtime_error("not at home");
  return {values.begin(), values.end()};
}
ORCHID_FUNCTION(fails_in_a_worker)
