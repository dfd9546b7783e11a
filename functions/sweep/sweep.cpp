// functions/sweep: a parameter sweep with best-of, for the flow in sweep.yaml: which drag makes a
// thrown ball fly as far as it was seen to?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "orchid/function.hpp"
#include "run.h"

namespace {

constexpr std::uint32_t most_points = 1'000'000;
constexpr double gravity = 9.81;       // m/s²
constexpr double time_step = 1e-4;     // s
constexpr double longest_flight = 60;  // s

/// How far it flies, in metres, with a drag of `drag * speed²` per kilogram.
double distance_of(double drag, double speed, double angle) {
  double x = 0;
  double y = 0;
  double vx = speed * std::cos(angle);
  double vy = speed * std::sin(angle);
  for (double time = 0; time < longest_flight && (y > 0 || time == 0); time += time_step) {
    const double v = std::hypot(vx, vy);
    vx -= drag * v * vx * time_step;
    vy -= (gravity + drag * v * vy) * time_step;
    x += vx * time_step;
    y += vy * time_step;
  }
  return x;
}

}  // namespace

/// The parameters to try: `count` of them, evenly from `first` to `last`.
std::vector<double> points(double first, double last, std::uint32_t count) {
  if (count < 2 || count > most_points || !(first < last))
    throw std::invalid_argument("2 to 1000000 points are needed, from a lower to a higher value");
  std::vector<double> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = first + (last - first) * i / (count - 1);
  return all;
}
ORCHID_FUNCTION(points)

/// One run of the model. Its cost is how far it misses the distance that was seen.
sweep::Run run(double drag, double speed, double seen) {
  constexpr double angle = 0.7;  // radians
  return {.drag = drag, .cost = std::abs(distance_of(drag, speed, angle) - seen)};
}
ORCHID_FUNCTION(run)

/// The cheapest; of equal ones the first.
sweep::Run best(std::span<const sweep::Run> runs) {
  if (runs.empty()) throw std::invalid_argument("of no run none is the best");
  return *std::ranges::min_element(runs, {}, &sweep::Run::cost);
}
ORCHID_FUNCTION(best)
