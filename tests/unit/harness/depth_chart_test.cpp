#include "crew/depth_chart.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace orchid::bench;

namespace {

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

struct Place {
  double x = 0;
  double y = 0;
};

/// Of the first line.
std::vector<Place> places_of(const std::string& svg) {
  const std::string begin = "<polyline points=\"";
  std::vector<Place> places;
  const char* at = svg.c_str() + svg.find(begin) + begin.size();
  Place place;
  int read = 0;
  while (std::sscanf(at, "%lf,%lf %n", &place.x, &place.y, &read) == 2) {
    places.push_back(place);
    at += read;
  }
  return places;
}

}  // namespace

TEST_CASE("a chart of chases has a line for each, deeper ones to the right and faster ones above") {
  const std::string svg =
      depth_chart_of("chases", {{.name = "one", .points = {{1, 20}, {64, 2}, {4096, 0.5}}},
                                {.name = "other", .points = {{1, 10}, {64, 5}}}});
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "<polyline") == 2);
  CHECK(count_of(svg, "<circle") == 5);
  CHECK(count_of(svg, ">other</text>") == 1);
  const std::vector<Place> places = places_of(svg);
  REQUIRE(places.size() == 3);
  for (std::size_t i = 1; i < places.size(); ++i) {
    CHECK(places[i].x > places[i - 1].x);
    CHECK(places[i].y < places[i - 1].y);
  }
}

TEST_CASE("a chart without measurements is one all the same") {
  CHECK(depth_chart_of("nothing", {}).ends_with("</svg>\n"));
}
