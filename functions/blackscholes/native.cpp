// blackscholes/native.cpp: the same kernel as a plain program, built with clang++-19 -O3
// -march=native: what Orchid is compared with. native [--rounds N] OPTIONS PRICES prints the time
// of each round in nanoseconds, one per line.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "files.h"
#include "kernel.h"

int main(int argc, char** argv) {
  long rounds = 1;
  if (argc == 5 && std::strcmp(argv[1], "--rounds") == 0) {
    rounds = std::strtol(argv[2], nullptr, 10);
    argv += 2;
    argc -= 2;
  }
  if (argc != 3 || rounds < 1) {
    std::fprintf(stderr, "usage: blackscholes-native [--rounds N] OPTIONS PRICES\n");
    return 2;
  }
  const auto options = blackscholes::read_span<blackscholes::Option>(argv[1]);
  std::vector<double> prices(options.size());
  for (long round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    blackscholes::price_all(options.data(), options.size(), prices.data());
    const auto end = std::chrono::steady_clock::now();
    std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(end - start).count()));
  }
  blackscholes::write_span(argv[2], prices);
}
