#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>

#include "embedded_functions.h"
#include "orchid/offload.h"

namespace orchid {
TEST_CASE("without a gateway all is computed here, and that is no error") {
  OffloadPool pool({.local_threads = 2, .client = {.gateway = "unix:/nowhere/gateway.sock"}});
  std::vector<double> inputs(100'000);
  std::iota(inputs.begin(), inputs.end(), 0);
  std::vector<double> outputs(inputs.size());
  const OffloadReport report = pool.map<scaled>(inputs, outputs, 2.0);
  CHECK(report.local_items == inputs.size());
  CHECK(report.worker_items == 0);
  bool all = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) all = all && outputs[i] == 2 * inputs[i];
  CHECK(all);
}

TEST_CASE("an empty range is done") {
  OffloadPool pool({.local_threads = 2, .lease = {.workers = 0}});
  std::vector<double> nothing;
  CHECK(pool.map<scaled>(nothing, nothing, 2.0).pieces == 0);
}

TEST_CASE("what the function throws here is thrown by the run, and the pool can be used again") {
  OffloadPool pool({.local_threads = 2, .lease = {.workers = 0}});
  const auto one_number = [](OffloadRange) { return std::tuple<std::int32_t>(7); };
  const auto ignore = [](OffloadRange, std::int32_t) {};
  CHECK_THROWS_WITH_AS(pool.run<refuses>(1000, one_number, ignore), "no 7", std::runtime_error);
  std::vector<double> inputs(1000, 1.0);
  std::vector<double> outputs(1000);
  pool.map<scaled>(inputs, outputs, 3.0);
  CHECK(std::accumulate(outputs.begin(), outputs.end(), 0.0) == 3000);
}

TEST_CASE("what applying throws is thrown by the run") {
  OffloadPool pool({.local_threads = 2, .lease = {.workers = 0}});
  std::vector<double> inputs(1000, 1.0);
  const auto arguments = [&](OffloadRange range) {
    return std::tuple(std::span<const double>(inputs).subspan(range.first, range.size()), 2.0);
  };
  const auto full = [](OffloadRange, std::span<const double>) {
    throw std::runtime_error("disk full");
  };
  CHECK_THROWS_WITH_AS(pool.run<scaled>(1000, arguments, full), "disk full", std::runtime_error);
}

TEST_CASE("another number of results than of items is an error") {
  OffloadPool pool({.local_threads = 1, .lease = {.workers = 0}});
  std::vector<double> inputs(10);
  std::vector<double> outputs(9);
  CHECK_THROWS_AS(pool.map<scaled>(inputs, outputs, 1.0), Error);
}

TEST_CASE("each index of a run is applied once by its local threads") {
  OffloadPool pool({.local_threads = 4, .lease = {.workers = 0}});
  std::vector<std::atomic<int>> applied(50'000);
  std::vector<double> inputs(applied.size(), 1.0);
  pool.run<scaled>(
      applied.size(),
      [&](OffloadRange range) {
        return std::tuple(std::span<const double>(inputs).subspan(range.first, range.size()), 2.0);
      },
      [&](OffloadRange range, std::span<const double> results) {
        for (std::size_t i = 0; i < results.size(); ++i) ++applied[range.first + i];
      });
  bool once = true;
  for (const auto& times : applied) once = once && times == 1;
  CHECK(once);
}

}  // namespace orchid
