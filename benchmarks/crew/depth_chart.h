// crew/depth_chart.h: how fast chases are over their depth, as a picture.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace orchid::bench {

struct DepthPoint {
  std::uint64_t depth = 1;
  double us_per_hop = 0;
};

struct DepthLine {
  std::string name;
  std::vector<DepthPoint> points;  // by depth
};

/// An SVG of 720 x 440: hops a second over the depth of a chase, both on scales of powers.
[[nodiscard]] std::string depth_chart_of(const std::string& title,
                                         const std::vector<DepthLine>& lines);

}  // namespace orchid::bench
