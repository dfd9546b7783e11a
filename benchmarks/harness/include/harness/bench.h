// harness/bench.h: runs what is measured and its baselines in interleaved rounds, and reports
// ratios.
//
//     int main(int argc, char** argv) {
//       Bench bench{"lane_latency", argc, argv};
//       bench.compare({.row = "echo 8 B", .unit = "us", .round = our_echo, .baseline = ucx,
//       .baseline_round = ucx_echo,
//                      .targets = {{Statistic::p50, {Target::Direction::at_most, 0.9}}}});
//       return bench.report();
//     }
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "harness/report.h"

namespace orchid::bench {

/// One round: a fresh series of measurements, all in the row's unit. A throughput is one value.
using Round = std::function<Result<std::vector<double>>()>;

enum class Statistic { p50, p99 };

struct Promise {
  Statistic statistic = Statistic::p50;
  Target target;  // on the ratio in `compare`, on the value in `measure`
};

/// Something against a baseline. Each promise becomes a row of its own; without promises there is
/// one row for p50.
struct Comparison {
  std::string row;
  std::string unit;
  Round round;
  Description baseline;
  Round baseline_round;
  std::vector<Promise> promises;
};

/// Something that has no rival: its promises bound the value itself.
struct Measurement {
  std::string row;
  std::string unit;
  Round round;
  std::vector<Promise> promises;
};

/// One benchmark program. Used by its main thread; the first failed round ends it with a message
/// and exit status 3.
class Bench {
 public:
  /// Reads --json FILE and --rounds N (at least 21, the default) from the command line; ends the
  /// program when that is wrong.
  Bench(std::string name, int argc, char** argv);

  /// Each round runs the subject, the baseline and the baseline again (for the A/A row), in
  /// rotating order.
  void compare(const Comparison& comparison);
  void measure(const Measurement& measurement);
  /// A row of something whose rounds the program has run itself.
  void add(Row row);

  /// Prints the table, writes the JSON file, and returns main's exit status.
  [[nodiscard]] int report() const;
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The command line of this program, for `Description::command` of a baseline that runs inside
  /// it.
  [[nodiscard]] const std::string& command_line() const { return command_line_; }

 private:
  [[nodiscard]] std::vector<double> run(const std::string& row, const Round& round) const;

  std::string name_;
  std::string command_line_;
  std::string json_file_;
  int rounds_ = 21;
  std::vector<Row> rows_;
};

/// The rows of one comparison from what its rounds measured: series[k] belongs to round k. Pure, so
/// that it can be tested.
struct RoundSeries {
  std::vector<std::vector<double>> subject;
  std::vector<std::vector<double>> baseline;
  std::vector<std::vector<double>> baseline_again;
};
[[nodiscard]] std::vector<Row> rows_of(const std::string& benchmark, const Comparison& comparison,
                                       const RoundSeries& series);
[[nodiscard]] std::vector<Row> rows_of(const std::string& benchmark, const Measurement& measurement,
                                       const std::vector<std::vector<double>>& series);

}  // namespace orchid::bench
