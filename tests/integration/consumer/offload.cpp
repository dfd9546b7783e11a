#include <cstdio>
#include <numeric>
#include <vector>

#include "orchid/offload.h"
#include "roots.h"

int main() {
  orchid::OffloadPool pool({.lease = {.workers = 2, .at_least = 1}});  // looks for workers
  std::vector<double> values(10'000'000);
  std::iota(values.begin(), values.end(), 0.0);
  std::vector<double> results(values.size());

  const orchid::OffloadReport report = pool.map<roots>(values, results);

  std::printf("%zu here, %zu on workers; the last is %g\n", report.local_items, report.worker_items,
              results.back());
  return 0;
}
