// matmul_native.cpp: the same kernel as a plain program: matmul-native ROUNDS N prints the time of
// each round in nanoseconds, one per line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "matmul_kernel.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: matmul-native ROUNDS N\n");
    return 2;
  }
  const long rounds = std::strtol(argv[1], nullptr, 10);
  const std::size_t n = std::strtoul(argv[2], nullptr, 10);
  const std::vector<double> input(2 * n * n, 1.5);
  std::vector<double> product(n * n);  // in memory that is there already, as a lane's is
  for (long round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::ranges::fill(product, 0.0);
    matmul::multiply(product.data(), input.data(), input.data() + n * n, n);
    const auto end = std::chrono::steady_clock::now();
    if (product[0] != 2.25 * static_cast<double>(n)) return 1;
    std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(end - start).count()));
  }
}
