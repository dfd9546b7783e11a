#include "crew/depth_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace orchid::bench {
namespace {

constexpr double left = 80;
constexpr double right = 500;
constexpr double top = 40;
constexpr double bottom = 380;
constexpr std::array colours{"#1b6ca8", "#c1440e", "#3a7d44", "#7a4ea3", "#8a6d1f", "#444444"};
constexpr double us_per_second = 1e6;

/// Of both axes: what lies between is a part of the way in logarithms.
struct Scale {
  double low = 1;
  double high = 1;
  double first = 0;  // where `low` is drawn
  double last = 0;
  [[nodiscard]] double at(double value) const {
    return first + (last - first) * std::log(value / low) / std::log(high / low);
  }
};

struct Scales {
  Scale depth{.low = 1, .high = 2, .first = left, .last = right};
  Scale rate{.low = 1e9, .high = 1, .first = bottom, .last = top};
};

/// Rates in whole powers of ten.
Scales scales_of(const std::vector<DepthLine>& lines) {
  Scales scales;
  for (const DepthLine& line : lines)
    for (const DepthPoint& point : line.points) {
      const double rate = us_per_second / point.us_per_hop;
      scales.depth.high = std::max(scales.depth.high, static_cast<double>(point.depth));
      scales.rate.low = std::min(scales.rate.low, rate);
      scales.rate.high = std::max(scales.rate.high, rate);
    }
  scales.rate.low = std::pow(10, std::floor(std::log10(scales.rate.low)));
  scales.rate.high = std::pow(10, std::ceil(std::log10(scales.rate.high)));
  if (scales.rate.low >= scales.rate.high) scales.rate.high = scales.rate.low * 10;
  return scales;
}

std::string axes_of(const Scales& scales) {
  std::string svg;
  for (double depth = 1; depth <= scales.depth.high; depth *= 4)
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>\n",
                       scales.depth.at(depth), bottom + 18, depth);
  for (double rate = scales.rate.low; rate <= scales.rate.high * 1.01; rate *= 10)
    svg += fmt::format(
        "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>\n",
        left, right, scales.rate.at(rate), scales.rate.at(rate), left - 6, scales.rate.at(rate) + 4,
        rate);
  svg += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">depth of a chase, in hops</text>\n"
      "<text x=\"{:.0f}\" y=\"32\">hops a second</text>\n",
      (left + right) / 2, bottom + 40, left);
  return svg;
}

}  // namespace

std::string depth_chart_of(const std::string& title, const std::vector<DepthLine>& lines) {
  const Scales scales = scales_of(lines);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"440\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"720\" height=\"440\" "
      "fill=\"white\"/>\n<text x=\"{:.0f}\" y=\"16\" font-size=\"14\">{}</text>\n",
      left, title);
  svg += axes_of(scales);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* const colour = colours.at(i % colours.size());
    std::string path;
    for (const DepthPoint& point : lines[i].points) {
      const double x = scales.depth.at(static_cast<double>(point.depth));
      const double y = scales.rate.at(us_per_second / point.us_per_hop);
      path += fmt::format("{:.1f},{:.1f} ", x, y);
      svg +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour);
    }
    svg += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n"
        "<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\">{}</text>\n",
        path, colour, right + 12, top + 16 + 18 * static_cast<double>(i), colour, lines[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace orchid::bench
