// benchmarks/flow_granularity.cpp: is the number of pieces a call that a flow learns as good as the
// best fixed one?
//
// A map of 8192 rows of a Mandelbrot set, which differ a hundredfold, and one of as many rows that
// are alike, on two workers of a lease that have a core each; then the same with one of the workers
// throttled to a quarter of its core by the kernel. The rival is found by a full search in the same
// run: all fixed numbers of pieces a call, from 1 to all, in steps of a quarter.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "busy_workers.h"
#include "core_share.h"
#include "flow/optimiser.h"
#include "flow/tuner.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_orchid.h"
#include "measured_flow.h"
#include "orchid/client.h"

namespace orchid::bench {
namespace {

constexpr std::uint64_t pieces = 8192;
constexpr std::uint64_t rows = 64;
constexpr std::uint64_t usual_row = 20;  // takes about as long as all do on average
constexpr int quarter = 25;

constexpr auto document =
    "flow: rows\n"
    "functions: {granularity_functions.mandelbrot: 'span<u64>(span<u64>)'}\n"
    "inputs: {list: span<u64>}\n"
    "nodes: {work: {kind: map, each: granularity_functions.mandelbrot}}\n"
    "edges: [{from: list, to: work}]\noutputs: {steps: work}\n";

flow::Value list_of(bool alike) {
  std::vector<std::uint64_t> list{pieces};
  for (std::uint64_t i = 0; i < pieces; ++i) list.push_back(alike ? usual_row : i % rows);
  const auto bytes = std::as_bytes(std::span(list));
  return std::make_shared<const flow::Bytes>(bytes.begin(), bytes.end());
}

class Maps {
 public:
  explicit Maps(Client& client) : workers_(client, plan_, 2) {}

  /// Milliseconds of the flow; `length`: pieces a call; 0: learned.
  [[nodiscard]] Result<std::vector<double>> run(const flow::Value& list, std::uint64_t length) {
    std::vector<std::unique_ptr<flow::Optimiser>> optimisers;
    if (length == 0)
      optimisers.push_back(flow::make_optimiser({.name = "granularity", .options = {}}));
    else
      optimisers.push_back(std::make_unique<Fixed>(flow::Advice{.pieces = length, .why = "fixed"}));
    flow::Tuner tuner(plan_, std::move(optimisers));
    const auto ran = workers_.run(plan_, {list}, &tuner);
    if (!ran) return fail(ran.error());
    if (flow::count_of(*ran->output) != pieces)
      return fail(ErrorCode::internal, "the flow gave something else");
    return std::vector<double>{ran->took.count() / 1e3};
  }

  [[nodiscard]] std::uint32_t workers() const { return workers_.count(); }

  /// The best fixed one.
  [[nodiscard]] std::uint64_t best_length(const flow::Value& list) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t length = 1; length <= pieces; length += 1 + length / 4)
      lengths.push_back(length);
    return lengths[best_choice(lengths.size(),
                               [&](std::size_t i) { return run(list, lengths[i]); })];
  }

 private:
  flow::Plan plan_ = plan_of(document);
  FlowWorkers workers_;
};

void compare(Bench& bench, Maps& maps, const std::string& where) {
  for (const bool alike : {false, true}) {
    const flow::Value list = list_of(alike);
    const std::uint64_t best = maps.best_length(list);
    const std::string what =
        "the best fixed number of pieces a call, " + std::to_string(best) + " here";
    bench.compare({.row = (alike ? "rows that are alike" : "rows of a Mandelbrot set") + where,
                   .unit = "ms",
                   .round = [&] { return maps.run(list, 0); },
                   .baseline = {what, bench.command_line(), ""},
                   .baseline_round = [&] { return maps.run(list, best); },
                   .promises = {{Statistic::p50, {Target::Direction::at_most, 1.05}}}});
  }
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("flow_granularity needs two cores\n", stderr);
    return 3;
  }
  auto share = CoreShare::make(quarter);  // goes after the workers
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "flow_granularity: %s\n", orchid.error().message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  client.deploy_file("granularity_functions", GRANULARITY_FUNCTIONS);
  Maps maps(client);
  if (const auto warm = maps.run(list_of(false), 0); !warm)
    throw std::runtime_error(warm.error().message);
  if (maps.workers() != 2) throw std::runtime_error("the lease has no two workers");
  const std::vector<pid_t> workers =
      busiest_workers([&] { return orchid->processes(); },
                      [&] {
                        if (const auto ran = maps.run(list_of(false), 1); !ran)
                          throw std::runtime_error(ran.error().message);
                      });
  if (workers.size() < 2) throw std::runtime_error("there are no two workers");
  for (std::size_t i = 0; i < 2; ++i)
    if (auto pinned = pin(workers[i], cores[i]); !pinned)
      throw std::runtime_error(pinned.error().message);
  compare(bench, maps, "");
  if (share) {
    if (auto added = share->add(workers[1]); !added)
      throw std::runtime_error(added.error().message);
    compare(bench, maps, ", one worker of a quarter of the speed");
  } else {
    std::fprintf(stderr, "rows with a slow worker are left out, root's cgroups are needed: %s\n",
                 share.error().message.c_str());
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("flow_granularity", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flow_granularity: %s\n", error.what());
    return 3;
  }
}
