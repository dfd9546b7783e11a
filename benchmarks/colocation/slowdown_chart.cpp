#include "slowdown_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace orchid::bench::colocation {
namespace {

constexpr double left = 60;
constexpr double right = 600;
constexpr double top = 30;
constexpr double bottom = 350;
constexpr std::array colours{"#1b6ca8", "#c1440e", "#3a7d44", "#7a4ea3"};

double highest(const std::vector<ChartLine>& lines, double bound) {
  double most = bound;
  for (const ChartLine& line : lines)
    for (const ChartPoint& point : line.points) most = std::max(most, point.slowdown);
  return std::ceil(most * 10) / 10;
}

}  // namespace

std::string chart_of(const std::vector<ChartLine>& lines, double bound) {
  const double most = highest(lines, bound);
  const auto x = [](double duty) {
    return left + std::clamp(duty, 0.0, 1.1) / 1.1 * (right - left);
  };
  const auto y = [most](double slowdown) {
    return bottom - std::max(slowdown, 0.0) / most * (bottom - top);
  };
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"400\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"640\" height=\"400\" "
      "fill=\"white\"/>\n";
  for (int tick = 0; tick <= 10; tick += 2)
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.1f}</text>\n",
                       x(tick / 10.0), bottom + 16, tick / 10.0);
  for (int tick = 0; tick <= 5; ++tick)
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{:.0f} %</text>\n"
        "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n",
        left - 6, y(most * tick / 5) + 4, 100 * most * tick / 5, left, right, y(most * tick / 5),
        y(most * tick / 5));
  svg += fmt::format(
      "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"black\" "
      "stroke-dasharray=\"5 4\"/>\n",
      left, right, y(bound), y(bound));
  svg += fmt::format(
      "<text x=\"330\" y=\"386\" text-anchor=\"middle\">duty of the functions: their throughput, "
      "of "
      "that without a cap</text>\n<text x=\"{:.0f}\" y=\"18\">slowdown of the job</text>\n",
      left);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* colour = colours[i % colours.size()];
    std::string path;
    for (const ChartPoint& point : lines[i].points) {
      path += fmt::format("{:.1f},{:.1f} ", x(point.duty), y(point.slowdown));
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                         x(point.duty), y(point.slowdown), colour);
    }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       path, colour);
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\">{}</text>\n", left + 20,
                       top + 20 + 16 * static_cast<double>(i), colour, lines[i].name);
  }
  return svg + "</svg>\n";
}

std::string table_of(const std::vector<ChartLine>& lines) {
  std::string text = "slowdown over the functions' duty: their throughput, of that without a cap\n";
  for (const ChartLine& line : lines) {
    text += fmt::format("  {:<22}", line.name);
    for (const ChartPoint& point : line.points)
      text += fmt::format("  {:.2f}: {:+.1f} %", point.duty, 100 * point.slowdown);
    text += "\n";
  }
  return text;
}

}  // namespace orchid::bench::colocation
