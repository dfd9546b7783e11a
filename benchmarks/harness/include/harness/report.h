// harness/report.h: the rows of a benchmark as a table for people and as JSON for programs, and
// what they mean together.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/statistics.h"

namespace orchid::bench {

/// What docs/SPECIFICATION.md promises: a bound on a ratio to the baseline, or on a value in the
/// row's unit.
struct Target {
  enum class Direction { at_most, at_least };
  Direction direction = Direction::at_most;
  double bound = 0;
  /// Looks at the favourable end of `interval`: a promise counts as broken only when the
  /// measurement is sure of it.
  [[nodiscard]] bool met_by(const Interval& interval) const;
  [[nodiscard]] std::string text() const;  // "<= 0.9"
};

/// Who is measured: a line for people, and all that is needed to repeat it.
struct Description {
  std::string what;         // "raw UCX active messages"
  std::string command;      // its full command line; of this program when it runs inside
  std::string environment;  // what was set for it, exact UCX_TLS included
};

struct Quantiles {
  double p50 = 0;
  double p99 = 0;
};

enum class Verdict { met, missed, inconclusive, measured };

/// One line of the table. `ratio` and `baseline` are missing when the target is absolute.
struct Row {
  std::string benchmark;
  std::string row;
  std::string unit;
  Quantiles value;
  std::optional<Description> baseline;
  Quantiles baseline_value;
  std::optional<double> ratio;
  Interval interval;  // of the ratio, or of the p50 when the target is absolute
  std::optional<Target> target;
  Verdict verdict = Verdict::measured;  // `measured`: no promise hangs on it
};

/// The median ratio of the baseline against itself must lie within these, or the machine was too
/// noisy to say anything.
constexpr Interval fair_self_ratio{0.95, 1.05};

[[nodiscard]] std::string table_of(const std::vector<Row>& rows);
[[nodiscard]] std::string json_of(const std::vector<Row>& rows);
/// 0: all targets met; 1: one missed; 2: inconclusive, whatever else the rows say.
[[nodiscard]] int exit_status_of(const std::vector<Row>& rows);

}  // namespace orchid::bench
