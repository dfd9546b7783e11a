// benchmarks/measured.h: the main function of a benchmark, which says what has failed.
#pragma once
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "foundation/result.h"
#include "harness/bench.h"
#include "harness/machine.h"

namespace orchid::bench {

/// The value. Throws what is in its place.
template <typename T>
[[nodiscard]] T must(Result<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}
inline void must(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

/// One for each of two ends that both spin. Throws: there are fewer.
[[nodiscard]] inline std::pair<int, int> two_cores() {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) throw std::runtime_error("two cores are needed");
  return {cores[0], cores[1]};
}

/// `run` returns the exit status; it is 3 when it throws.
[[nodiscard]] inline int run_benchmark(Bench& bench, int (*run)(Bench&)) {
  try {
    return run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", bench.name().c_str(), error.what());
    return 3;
  }
}

}  // namespace orchid::bench
