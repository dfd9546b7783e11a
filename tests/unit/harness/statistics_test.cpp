#include "harness/statistics.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace orchid::bench;

TEST_CASE("percentiles lie between the neighbours of their place") {
  std::vector<double> values(101);
  std::iota(values.rbegin(), values.rend(), 0.0);
  CHECK(percentile(values, 0) == 0);
  CHECK(percentile(values, 0.5) == 50);
  CHECK(percentile(values, 0.99) == doctest::Approx(99));
  CHECK(percentile(values, 1) == 100);
  CHECK(percentile({7}, 0.99) == 7);
  CHECK(median({1, 2}) == doctest::Approx(1.5));
}

TEST_CASE("the bootstrap interval holds the median, and is the same for the same seed") {
  const std::vector<double> values{0.8, 0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 1.3};
  const Interval interval = bootstrap_median(values, 1);
  CHECK(interval.low <= median(values));
  CHECK(interval.high >= median(values));
  CHECK(interval.low >= 0.8);
  CHECK(interval.high <= 1.3);
  CHECK(interval.low < interval.high);
  const Interval again = bootstrap_median(values, 1);
  CHECK(again.low == interval.low);
  CHECK(again.high == interval.high);
}

TEST_CASE("the bootstrap interval of a high percentile lies among the highest values") {
  std::vector<double> values(21);
  std::iota(values.begin(), values.end(), 0.0);
  const Interval interval = bootstrap_percentile(values, 0.95, 1);
  CHECK(interval.low > 14);
  CHECK(interval.low <= percentile(values, 0.95));
  CHECK(interval.high >= percentile(values, 0.95));
  CHECK(interval.high <= 20);
}

TEST_CASE("measurements without spread have an interval without width") {
  const std::vector<double> values(21, 0.5);
  const Interval interval = bootstrap_median(values, 3);
  CHECK(interval.low == 0.5);
  CHECK(interval.high == 0.5);
}
