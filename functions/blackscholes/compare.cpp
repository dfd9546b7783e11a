// blackscholes/compare.cpp: the largest relative difference of two price files: compare A B
// [LIMIT]. Exit status 1: over LIMIT.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "files.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: blackscholes-compare PRICES PRICES [LIMIT]\n");
    return 2;
  }
  const auto a = blackscholes::read_span<double>(argv[1]);
  const auto b = blackscholes::read_span<double>(argv[2]);
  if (a.size() != b.size())
    blackscholes::give_up(argv[2], "has another number of prices than the first file");
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      blackscholes::give_up(argv[1], "holds prices that are no numbers");
    if (a[i] != b[i])
      largest =
          std::max(largest, std::fabs(a[i] - b[i]) / std::max(std::fabs(a[i]), std::fabs(b[i])));
  }
  std::printf("%.3g\n", largest);
  return argc == 4 && largest > std::strtod(argv[3], nullptr) ? 1 : 0;
}
