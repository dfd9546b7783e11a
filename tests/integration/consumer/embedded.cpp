// Calls a function of this program on a worker that nobody deployed it to, and over a pool until a
// worker has had its share.
#include <chrono>
#include <cstdio>
#include <vector>

#include "orchid/client.h"
#include "orchid/native_twin.h"
#include "orchid/offload.h"
#include "roots.h"

ORCHID_DECLARE_ENTRY(halve)

namespace {

bool workers_take_a_share() {
  // Workers of this host may rest when the machine is full, so that they are asked for a while.
  orchid::OffloadPool pool({.local_threads = 1, .lease = {.workers = 1}});
  std::vector<double> values(1'000'000, 9.0);
  std::vector<double> results(values.size());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < give_up) {
    const orchid::OffloadReport report = pool.map<roots>(values, results);
    for (const double result : results)
      if (result != 3) return false;
    if (report.worker_items > 0) return true;
  }
  return false;
}

}  // namespace

int main() try {
  {
    orchid::Client client;
    orchid::Lease lease = client.lease({.workers = 1});
    const auto on_a_worker = lease.function<roots>();
    const std::vector<double> squares{1, 4, 9};
    if (on_a_worker(squares) != on_a_worker.local(squares)) return 1;
    const auto input = orchid::values::encode_all(std::vector<float>{1, 2, 3});
    if (lease.function(orchid_embedded_halve).invoke(input).output !=
        orchid::call_native(orchid_embedded_halve, input).output)
      return 1;
  }
  return workers_take_a_share() ? 0 : 1;
} catch (const orchid::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
