// harness/statistics.h: what a series of measurements says, and how sure it is.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace orchid::bench {

/// The value below which `fraction` (0 to 1) of the values lie, interpolated between neighbours;
/// `values` must not be empty.
[[nodiscard]] double percentile(std::vector<double> values, double fraction);
[[nodiscard]] double median(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The 95 % percentile-bootstrap interval of that percentile of `values`, from 2 000 resamples. The
/// same seed gives the same interval.
[[nodiscard]] Interval bootstrap_percentile(std::span<const double> values, double fraction,
                                            std::uint64_t seed);
[[nodiscard]] Interval bootstrap_median(std::span<const double> values, std::uint64_t seed);

}  // namespace orchid::bench
