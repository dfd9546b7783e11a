// Choices that are learned while a flow runs, against the best that a search over all fixed ones
// finds, on recorded times.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flow_under_test.h"
#include "simulated_workers.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

/// Microseconds that each of 64 rows has taken on one core of the build machine (AMD EPYC, g++ 12
/// -O2), the median of seven times: of a Mandelbrot set (256 columns of [-2.2, 1] x [-1.2, 1.2],
/// 500 steps at most), whose rows differ a hundredfold, and of an IDW grid (256 columns, 400
/// stations), whose rows are alike.
constexpr std::array<double, 64> mandelbrot_rows{
    1,   1,   2,   2,   2,   2,   2,   2,   3,   8,   15,  22,  24,  22,  20,  39,
    63,  83,  91,  91,  94,  106, 105, 118, 113, 125, 149, 153, 164, 166, 167, 199,
    313, 176, 167, 167, 163, 154, 149, 126, 114, 119, 105, 106, 94,  91,  91,  84,
    63,  39,  20,  22,  24,  22,  15,  8,   3,   2,   2,   2,   2,   2,   1,   1};
constexpr std::array<double, 64> idw_rows{
    109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109,
    109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109,
    109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109,
    109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109, 109};

constexpr unsigned pieces = 4096;

Plan one_map() {
  return plan_of("flow: runs\noptimise: [granularity]\n" + functions_section() +
                 "inputs: {list: span<u64>}\n"
                 "nodes: {work: {kind: map, each: doubles}}\n"
                 "edges: [{from: list, to: work}]\n"
                 "outputs: {list: work}\n");
}

Value list_of(unsigned count) {
  std::string text = "[0";
  for (unsigned i = 1; i < count; ++i) text += ",0";
  return value("span<u64>", text + "]");
}

using Pieces = std::function<double(std::uint32_t, std::uint64_t)>;

/// The rows again and again, or each of them 64 times, so that long pieces lie together.
Pieces again_and_again(const std::array<double, 64>& rows) {
  return [&rows](std::uint32_t, std::uint64_t index) { return rows.at(index % 64) * 1e-6; };
}
Pieces each_for_long(const std::array<double, 64>& rows) {
  return [&rows](std::uint32_t, std::uint64_t index) { return rows.at(index / 64) * 1e-6; };
}

/// The fewest seconds that a fixed length of runs takes: lengths up to all pieces are tried, in
/// steps of a quarter.
double best_fixed(const Plan& plan, const std::vector<Value>& inputs,
                  const SimulatedWorkers& workers) {
  double best = 1e9;
  for (std::uint64_t length = 1; length <= pieces; length += 1 + length / 4)
    best = std::min(
        best, simulate(plan, inputs, workers, {}, Decided{.nodes = {{.node = 0, .pieces = length}}})
                  .seconds);
  return best;
}

double learned(const Plan& plan, const std::vector<Value>& inputs,
               const SimulatedWorkers& workers) {
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  optimisers.push_back(make_optimiser({.name = "granularity", .options = {}}));
  return simulate(plan, inputs, workers, std::move(optimisers)).seconds;
}

/// How much longer a flow takes whose granularity is learned, for any workers and prices of a call.
double worst_ratio(const std::string& name, const Pieces& piece_seconds,
                   const std::vector<double>& prices) {
  const Plan plan = one_map();
  const std::vector<Value> inputs{list_of(pieces)};
  double worst = 0;
  for (const double call_seconds : prices) {
    for (const std::vector<double>& speeds :
         {std::vector<double>{1, 1}, std::vector<double>(8, 1.0),
          std::vector<double>{1, 1, 1, 0.25}, std::vector<double>{1, 0.25}}) {
      const SimulatedWorkers workers{
          .speeds = speeds, .call_seconds = call_seconds, .piece_seconds = piece_seconds};
      const double ratio = learned(plan, inputs, workers) / best_fixed(plan, inputs, workers);
      MESSAGE(name << ", " << speeds.size() << " workers, the slowest " << speeds.back()
                   << ", a call costs " << call_seconds * 1e6 << " us: " << ratio
                   << " x the best fixed");
      worst = std::max(worst, ratio);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("learned granularity costs 2 % at most over the best fixed one") {
  const std::vector<double> usual{2e-6, 20e-6};
  CHECK(worst_ratio("idw", again_and_again(idw_rows), usual) <= 1.02);
  CHECK(worst_ratio("mandelbrot", again_and_again(mandelbrot_rows), usual) <= 1.02);
}

// What it does not reach: pieces that become a hundred times longer while the flow runs, and calls
// that cost more than the pieces in them. It stays within half as much again.
TEST_CASE("learned granularity bears long pieces that come late, and calls that are dear") {
  CHECK(worst_ratio("mandelbrot in order", each_for_long(mandelbrot_rows), {20e-6}) <= 1.5);
  CHECK(worst_ratio("idw", again_and_again(idw_rows), {150e-6}) <= 1.1);
  CHECK(worst_ratio("mandelbrot", again_and_again(mandelbrot_rows), {150e-6}) <= 1.15);
}
