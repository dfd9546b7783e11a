// functions/montecarlo: how far are two random points of a cube from each other? An integral in six
// dimensions by random numbers, with its standard error.
#include "kernel.h"

#if ORCHID_HOST
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "estimate.h"

namespace {

constexpr std::uint64_t most_groups = std::uint64_t{1} << 26;  // their sums are 512 MiB

sampling::Estimate estimate_of(const std::vector<sampling::Sums>& groups) {
  double distances = 0;
  double squares = 0;
  for (const sampling::Sums& group : groups) {
    distances += group.distances;
    squares += group.squares;
  }
  const std::uint64_t pairs = groups.size() * sampling::pairs_of_group;
  const auto count = static_cast<double>(pairs);
  const double mean = distances / count;
  // Rounded once on every processor.
  const double variance = std::fma(-mean, mean, squares / count);
  return {.mean = mean, .standard_error = std::sqrt(variance / count), .pairs = pairs};
}

}  // namespace

std::optional<sampling::Estimate> montecarlo(orchid::Call& call, std::uint64_t pairs,
                                             std::uint64_t seed) {
  const std::uint64_t groups = pairs / sampling::pairs_of_group +
                               static_cast<std::uint64_t>(pairs % sampling::pairs_of_group != 0);
  if (groups == 0 || groups > most_groups)
    throw std::invalid_argument("1 to 2^40 pairs of points are needed");
  const orchid::DeviceSpan<sampling::Sums> on_device(call, groups);
  if (!on_device) return std::nullopt;
  const philox::Key key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  if (!orchid::launch(call, random_distances, groups * sampling::group_size,
                      {.key = key, .sums = on_device.data()}))
    return std::nullopt;
  std::vector<sampling::Sums> sums(groups);
  if (!orchid::wait(call) || !on_device.copy_to(sums)) return std::nullopt;
  return estimate_of(sums);
}
ORCHID_FUNCTION(montecarlo)
#endif
