// Functions of data_objects: compiled by clang to bitcode, and for the host's processor where they
// run.
#include <cstdint>

#include "orchid/function.hpp"

/// With or without data: nothing of it is touched.
static std::uint64_t nothing(std::uint64_t value) { return value; }
ORCHID_FUNCTION(nothing)

/// Four sums at a time, so that memory is what it waits for.
static double sum(orchid::Data<double> values) {
  double sums[4] = {};
  const double* const data = values.data();
  const std::size_t whole = values.size() / 4 * 4;
  for (std::size_t i = 0; i < whole; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += data[i + k];
  double all = sums[0] + sums[1] + sums[2] + sums[3];
  for (std::size_t i = whole; i < values.size(); ++i) all += data[i];
  return all;
}
ORCHID_FUNCTION(sum)
