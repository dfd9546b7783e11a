// colocation/slowdown_chart.h: how much slower each job is over the duty of the functions beside
// it, as a table and as a picture.
#pragma once
#include <string>
#include <vector>

namespace orchid::bench::colocation {

struct ChartPoint {
  /// Of the functions, as it is seen from outside: held for half of the time, one that does nothing
  /// but move memory moves half as much. So: their throughput, of what they have without a cap.
  double duty = 0;
  double slowdown = 0;  // of the job, 0.05: 5 % slower
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
};

/// An SVG of 640 x 400, with `bound` as a dashed line.
[[nodiscard]] std::string chart_of(const std::vector<ChartLine>& lines, double bound);
/// The same numbers in columns.
[[nodiscard]] std::string table_of(const std::vector<ChartLine>& lines);

}  // namespace orchid::bench::colocation
