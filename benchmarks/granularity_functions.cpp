// benchmarks/granularity_functions.cpp: pieces of a map for the benchmark `flow_granularity`.
#include <cstdint>
#include <span>
#include <vector>

#include "orchid/function.hpp"

namespace {

constexpr std::uint64_t rows = 64;
constexpr int columns = 256;
constexpr int most_steps = 500;

/// How many steps the points of one row of a Mandelbrot set take together.
std::uint64_t steps_of_row(std::uint64_t row) {
  const double y = -1.2 + 2.4 * static_cast<double>(row % rows) / rows;
  std::uint64_t all = 0;
  for (int column = 0; column < columns; ++column) {
    const double x = -2.2 + 3.2 * column / columns;
    double re = 0;
    double im = 0;
    int steps = 0;
    while (steps < most_steps && re * re + im * im < 4) {
      const double next = re * re - im * im + x;
      im = 2 * re * im + y;
      re = next;
      ++steps;
    }
    all += static_cast<std::uint64_t>(steps);
  }
  return all;
}

}  // namespace

std::vector<std::uint64_t> mandelbrot(std::span<const std::uint64_t> some) {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t row : some) all.push_back(steps_of_row(row));
  return all;
}
ORCHID_FUNCTION(mandelbrot)
