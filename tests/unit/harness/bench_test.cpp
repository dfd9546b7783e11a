#include "harness/bench.h"

#include <doctest/doctest.h>

using namespace orchid::bench;

namespace {

std::vector<std::vector<double>> rounds_of(double value) {
  return std::vector<std::vector<double>>(21, {value, value, value * 1.5});
}

Comparison promised(Target target) {
  return {.row = "echo",
          .unit = "us",
          .round = {},
          .baseline = {"rival", "rival --fast", ""},
          .baseline_round = {},
          .promises = {{Statistic::p50, target}, {Statistic::p99, target}}};
}

}  // namespace

TEST_CASE("a comparison has a row for each promise, and one of the baseline against itself") {
  const auto rows = rows_of("x", promised({Target::Direction::at_most, 0.9}),
                            {rounds_of(1), rounds_of(2), rounds_of(2)});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].row == "echo");
  CHECK(rows[0].ratio == doctest::Approx(0.5));
  CHECK(rows[0].verdict == Verdict::met);
  CHECK(rows[1].row == "echo, p99");
  CHECK(rows[2].row == "A/A of echo");
  CHECK(rows[2].ratio == doctest::Approx(1));
  CHECK(rows[2].verdict == Verdict::measured);
}

TEST_CASE("a slower subject misses its target") {
  const auto rows = rows_of("x", promised({Target::Direction::at_most, 0.9}),
                            {rounds_of(2), rounds_of(2), rounds_of(2)});
  CHECK(rows[0].verdict == Verdict::missed);
  CHECK(exit_status_of(rows) == 1);
}

TEST_CASE("a baseline that differs from itself makes the run inconclusive") {
  const auto rows = rows_of("x", promised({Target::Direction::at_most, 0.9}),
                            {rounds_of(1), rounds_of(2), rounds_of(2.2)});
  CHECK(exit_status_of(rows) == 2);
}

TEST_CASE(
    "the ratio is taken in each round, so a machine that slows down for all changes nothing") {
  RoundSeries series;
  for (int round = 1; round <= 21; ++round) {
    series.subject.push_back({1.0 * round});
    series.baseline.push_back({2.0 * round});
    series.baseline_again.push_back({2.0 * round});
  }
  const auto rows = rows_of("x", promised({Target::Direction::at_most, 0.6}), series);
  CHECK(rows[0].ratio == doctest::Approx(0.5));
  CHECK(rows[0].interval.high == doctest::Approx(0.5));
}

TEST_CASE("a measurement without a rival is held to an absolute bound") {
  const Measurement measurement{.row = "deploy",
                                .unit = "ms",
                                .round = {},
                                .promises = {{Statistic::p50, {Target::Direction::at_most, 20}}}};
  CHECK(rows_of("cold_start", measurement, rounds_of(12))[0].verdict == Verdict::met);
  CHECK(rows_of("cold_start", measurement, rounds_of(25))[0].verdict == Verdict::missed);
}
