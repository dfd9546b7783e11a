#include "harness/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

namespace orchid::bench {

double percentile(std::vector<double> values, double fraction) {
  assert(!values.empty() && fraction >= 0 && fraction <= 1);
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

Interval bootstrap_percentile(std::span<const double> values, double fraction, std::uint64_t seed) {
  assert(!values.empty());
  constexpr int resamples = 2000;
  std::mt19937_64 random{seed};
  std::vector<double> found;
  found.reserve(resamples);
  std::vector<double> sample(values.size());
  for (int i = 0; i < resamples; ++i) {
    // The remainder's bias is below 1e-17 for any number of rounds that anyone waits for.
    for (double& value : sample) value = values[random() % values.size()];
    found.push_back(percentile(sample, fraction));
  }
  return {percentile(found, 0.025), percentile(found, 0.975)};
}

Interval bootstrap_median(std::span<const double> values, std::uint64_t seed) {
  return bootstrap_percentile(values, 0.5, seed);
}

}  // namespace orchid::bench
