#include "foundation/metrics_text.h"

#include <doctest/doctest.h>

#include <array>

namespace orchid {

TEST_CASE("a metric is described once, with its samples beneath") {
  MetricsText text;
  text.counter("calls_total", "Calls.", 3);
  text.describe(MetricKind::gauge, "age_seconds", "Since it was heard.");
  text.sample(0.5, {{"source", "slurm"}, {"cluster", "fern"}});
  text.sample(std::uint64_t{12'345'678}, {{"source", "other"}});
  CHECK(text.take() ==
        "# HELP calls_total Calls.\n"
        "# TYPE calls_total counter\n"
        "calls_total 3\n"
        "# HELP age_seconds Since it was heard.\n"
        "# TYPE age_seconds gauge\n"
        "age_seconds{source=\"slurm\",cluster=\"fern\"} 0.5\n"
        "age_seconds{source=\"other\"} 12345678\n");
}

TEST_CASE("no label's value can be taken for something else") {
  MetricsText text;
  text.describe(MetricKind::gauge, "g", "G.");
  text.sample(std::uint64_t{1}, {{"name", "a\"b\\c\nd"}});
  CHECK(text.take().ends_with("g{name=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST_CASE("a histogram's buckets count what is at most their bound") {
  constexpr std::array bounds{0.001, 0.25};
  constexpr std::array<std::uint64_t, 3> counts{4, 0, 2};
  MetricsText text;
  text.histogram("t_seconds", "T.", {.bounds = bounds, .counts = counts, .sum = 1.5});
  CHECK(text.take() ==
        "# HELP t_seconds T.\n"
        "# TYPE t_seconds histogram\n"
        "t_seconds_bucket{le=\"0.001\"} 4\n"
        "t_seconds_bucket{le=\"0.25\"} 4\n"
        "t_seconds_bucket{le=\"+Inf\"} 6\n"
        "t_seconds_sum 1.500000\n"
        "t_seconds_count 6\n");
}

}  // namespace orchid
