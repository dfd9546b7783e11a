// functions/kmeans: Lloyd's algorithm (1982) as an iterating flow: points stay in a data object,
// and the centres are the state that goes from step to step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "centre.h"
#include "orchid/function.hpp"

namespace {

using kmeans::Centre;

constexpr std::uint32_t most_clusters = 4096;
constexpr double spread = 0.05;  // of the points of one cluster, in a square of side 1

std::size_t nearest(std::span<const Centre> centres, double x, double y) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < centres.size(); ++i) {
    const double dx = x - centres[i].x;
    const double dy = y - centres[i].y;
    if (const double square = dx * dx + dy * dy; square < least) {
      least = square;
      best = i;
    }
  }
  return best;
}

}  // namespace

/// Points around `clusters` places of a square of side 1: x and y in turn.
std::optional<orchid::NewData<double>> points(orchid::Call& call, std::uint64_t count,
                                              std::uint32_t clusters, std::uint64_t seed) {
  if (clusters == 0 || clusters > most_clusters || count < clusters)
    throw std::invalid_argument("1 to 4096 clusters are needed, and a point for each at least");
  auto room = orchid::Room<double>::create(call, 2 * count);
  if (!room) return std::nullopt;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> anywhere(0, 1);
  std::normal_distribution<double> near(0, spread / std::sqrt(clusters));
  std::vector<Centre> places(clusters);
  for (Centre& place : places) place = {.x = anywhere(random), .y = anywhere(random), .moved = 0};
  const auto values = room->span();
  for (std::uint64_t i = 0; i < count; ++i) {
    const Centre& place = places[i % clusters];
    values[2 * i] = place.x + near(random);
    values[2 * i + 1] = place.y + near(random);
  }
  return room->as_result(2 * count);
}
ORCHID_FUNCTION(points)

/// The first centres: the point that is farthest from those that are there, again and again.
std::vector<Centre> start(orchid::Data<double> points, std::uint32_t clusters) {
  const std::size_t count = points.size() / 2;
  if (clusters == 0 || clusters > most_clusters || count < clusters)
    throw std::invalid_argument("1 to 4096 clusters are needed, and a point for each at least");
  std::vector<double> away(count, std::numeric_limits<double>::infinity());
  std::vector<Centre> centres;
  for (std::size_t next = 0; centres.size() < clusters;) {
    const Centre centre{.x = points[2 * next], .y = points[2 * next + 1], .moved = 1};
    centres.push_back(centre);
    for (std::size_t i = 0; i < count; ++i) {
      const double dx = points[2 * i] - centre.x;
      const double dy = points[2 * i + 1] - centre.y;
      away[i] = std::min(away[i], dx * dx + dy * dy);
    }
    next = static_cast<std::size_t>(std::ranges::max_element(away) - away.begin());
  }
  return centres;
}
ORCHID_FUNCTION(start)

/// Each centre moves into the middle of the points that are nearest to it.
std::vector<Centre> step(std::span<const Centre> centres, orchid::Data<double> points) {
  std::vector<Centre> sums(centres.size());
  std::vector<std::uint64_t> counts(centres.size());
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    const std::size_t own = nearest(centres, points[i], points[i + 1]);
    sums[own].x += points[i];
    sums[own].y += points[i + 1];
    ++counts[own];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (counts[i] == 0) {  // nothing is near it: it stays
      sums[i] = {.x = centres[i].x, .y = centres[i].y, .moved = 0};
      continue;
    }
    sums[i].x /= static_cast<double>(counts[i]);
    sums[i].y /= static_cast<double>(counts[i]);
    sums[i].moved = std::hypot(sums[i].x - centres[i].x, sums[i].y - centres[i].y);
  }
  return sums;
}
ORCHID_FUNCTION(step)

/// Whether no centre has moved any more.
bool settled(std::span<const Centre> centres) {
  constexpr double still = 1e-12;
  return std::ranges::all_of(centres, [](const Centre& centre) { return centre.moved < still; });
}
ORCHID_FUNCTION(settled)
