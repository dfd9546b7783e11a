#include "slowdown_chart.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string_view>

namespace orchid::bench::colocation {
namespace {

const std::vector<ChartLine> two_jobs{
    {"triad", {{0, 0}, {0.25, 0.04}, {0.5, 0.11}, {1, 0.32}}},
    {"gemm", {{0, 0}, {0.5, -0.002}, {1, 0.01}}},
};

std::vector<std::string> elements(const std::string& svg, std::string_view name) {
  std::vector<std::string> found;
  const std::string opening = "<" + std::string(name) + " ";
  for (auto at = svg.find(opening); at != std::string::npos; at = svg.find(opening, at + 1))
    found.push_back(svg.substr(at, svg.find('>', at) + 1 - at));
  return found;
}

double attribute(const std::string& element, const std::string& name) {
  const std::string opening = " " + name + "=\"";
  const auto at = element.find(opening);
  REQUIRE(at != std::string::npos);
  return std::strtod(element.c_str() + at + opening.size(), nullptr);
}

}  // namespace

TEST_CASE("the chart has each job's line with all its points, and the bound") {
  const std::string svg = chart_of(two_jobs, 0.05);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(elements(svg, "circle").size() == 7);
  CHECK(elements(svg, "polyline").size() == 2);
  CHECK(svg.find(">triad</text>") != std::string::npos);
  CHECK(svg.find(">gemm</text>") != std::string::npos);
  CHECK(svg.find("stroke-dasharray") != std::string::npos);
}

TEST_CASE("more duty lies farther right, more slowdown higher, and all of it inside") {
  const auto points = elements(chart_of(two_jobs, 0.05), "circle");
  REQUIRE(points.size() == 7);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(attribute(points[i], "cx") > attribute(points[i - 1], "cx"));
    CHECK(attribute(points[i], "cy") < attribute(points[i - 1], "cy"));
  }
  for (const std::string& point : points) {
    CHECK(attribute(point, "cx") >= 0);
    CHECK(attribute(point, "cx") <= 640);
    CHECK(attribute(point, "cy") >= 0);
    CHECK(attribute(point, "cy") <= 400);
  }
  // A job that got faster has no slowdown.
  CHECK(attribute(points[5], "cy") == attribute(points[4], "cy"));
}

TEST_CASE("the bound lies where a job of that slowdown does") {
  const std::string svg = chart_of({{"job", {{0.5, 0.05}}}}, 0.05);
  const auto points = elements(svg, "circle");
  REQUIRE(points.size() == 1);
  bool found = false;
  for (const std::string& line : elements(svg, "line"))
    if (line.find("stroke-dasharray") != std::string::npos) {
      found = true;
      CHECK(attribute(line, "y1") == attribute(points[0], "cy"));
      CHECK(attribute(line, "y2") == attribute(points[0], "cy"));
    }
  CHECK(found);
}

TEST_CASE("the table has the same numbers") {
  const std::string table = table_of(two_jobs);
  CHECK(table.find("triad") != std::string::npos);
  CHECK(table.find("0.50: +11.0 %") != std::string::npos);
  CHECK(table.find("0.50: -0.2 %") != std::string::npos);
}

}  // namespace orchid::bench::colocation
