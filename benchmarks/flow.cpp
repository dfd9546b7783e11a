// benchmarks/flow.cpp: what does a flow in the foreground cost beside the same bare calls?
//
// A chain of 1000 nodes whose function gives what it gets, against as many asynchronous calls of
// the SDK, one after the other; and 1 -> 10 000 -> 1, a map with partition and merge, against
// Lease::map and the two calls around it. Values are 8 bytes. Flows have a lease of one worker, and
// the bare calls another one. The rivals are Dask.distributed, Parsl and HyperQueue with two
// workers on the two cores that this program and its worker have, with smaller graphs, as they take
// long; where they are not installed their rows are left out.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench.h"
#include "local_orchid.h"
#include "measured_flow.h"
#include "orchid/client.h"
#include "task_system.h"

namespace orchid::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int chain_length = 1000;
constexpr std::uint64_t pieces = 10'000;

constexpr auto functions =
    "functions: {flow_functions.same: 'u64(u64)', flow_functions.up_to: 'span<u64>(u64)', "
    "flow_functions.sum: 'u64(span<u64>)'}\n";

std::string chain(int length) {
  std::string nodes;
  std::string edges = "- {from: n, to: n0}\n";
  for (int i = 0; i < length; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes += "  " + name + ": {kind: call, function: flow_functions.same}\n";
    if (i + 1 < length) edges += "- {from: " + name + ", to: n" + std::to_string(i + 1) + "}\n";
  }
  return std::string("flow: chain\n") + functions + "inputs: {n: u64}\nnodes:\n" + nodes +
         "edges:\n" + edges + "outputs: {r: n" + std::to_string(length - 1) + "}\n";
}

std::string fan() {
  return std::string("flow: fan\n") + functions +
         "inputs: {n: u64}\n"
         "nodes: {m: {kind: map, takes: [n], partition: {function: flow_functions.up_to, takes: "
         "[n]}, each: flow_functions.same, merge: flow_functions.sum}}\n"
         "edges: [{from: n, to: m.n}]\noutputs: {r: m}\n";
}

flow::Bytes bytes_of(std::uint64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  return {bytes.begin(), bytes.end()};
}

/// Runs a flow; how long it took for each of `parts`, in microseconds.
Result<std::vector<double>> run_flow(FlowWorkers& worker, const flow::Plan& plan, std::uint64_t n,
                                     std::uint64_t wanted, double parts) {
  const auto ran = worker.run(plan, {std::make_shared<const flow::Bytes>(bytes_of(n))});
  if (!ran) return fail(ran.error());
  if (*ran->output != bytes_of(wanted))
    return fail(ErrorCode::internal, "the flow gave something else");
  return std::vector<double>{ran->took.count() / parts};
}

class BareCalls {
 public:
  explicit BareCalls(Client& client)
      : lease_(client.lease({.workers = 1})),
        same_(lease_.function("flow_functions.same")),
        up_to_(lease_.function("flow_functions.up_to")),
        sum_(lease_.function("flow_functions.sum")) {}

  Result<std::vector<double>> chain() {
    const auto start = Clock::now();
    std::vector<std::byte> value = bytes_of(7);
    for (int i = 0; i < chain_length; ++i) value = same_.async(value).get().output;
    return microseconds_since(start, chain_length);
  }

  Result<std::vector<double>> fan() {
    const auto start = Clock::now();
    const Reply numbers = up_to_.async(bytes_of(pieces)).get();
    const std::span all = std::span(numbers.output).subspan(sizeof(std::uint64_t));
    std::vector<std::vector<std::byte>> inputs;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const auto one = all.subspan(i * sizeof(std::uint64_t), sizeof(std::uint64_t));
      inputs.emplace_back(one.begin(), one.end());
    }
    std::vector<std::byte> results = bytes_of(pieces);
    for (const Reply& reply : lease_.map(same_, inputs))
      results.insert(results.end(), reply.output.begin(), reply.output.end());
    if (sum_.async(results).get().output != bytes_of(pieces * (pieces + 1) / 2))
      return fail(ErrorCode::internal, "the calls gave something else");
    return microseconds_since(start, pieces);
  }

 private:
  static std::vector<double> microseconds_since(Clock::time_point start, double parts) {
    return {std::chrono::duration<double, std::micro>(Clock::now() - start).count() / parts};
  }

  Lease lease_;
  LeasedFunction same_;
  LeasedFunction up_to_;
  LeasedFunction sum_;
};

/// What the flow's part takes longer than the bare call's, in one round.
Result<std::vector<double>> difference(const Round& flow, const Round& bare) {
  const auto with = flow();
  if (!with) return with;
  const auto without = bare();
  if (!without) return without;
  return std::vector<double>{with->front() - without->front()};
}

/// This process has one, and its worker another one.
constexpr int rival_cores = 2;
constexpr int short_chain = 50;
constexpr std::uint64_t few_pieces = 500;

void compare_with(Bench& bench, const std::string& name, const std::string& what,
                  FlowWorkers& worker) {
  auto system = find_rival(name, what, rival_cores);
  if (!system) return;
  const Description description = description_of_rival(name, what + ", both cores");
  const std::vector<Promise> promises = promises_against_rivals();
  const flow::Plan chain_plan = plan_of(chain(short_chain));
  const flow::Plan fan_plan = plan_of(fan());
  bench.compare({.row = "a node of a chain of 50 against " + name,
                 .unit = "us",
                 .round = [&] { return run_flow(worker, chain_plan, 7, 7, short_chain); },
                 .baseline = description,
                 .baseline_round = rival_round(*system, "chain " + std::to_string(short_chain), 7),
                 .promises = promises});
  constexpr std::uint64_t sum = few_pieces * (few_pieces + 1) / 2;
  bench.compare({.row = "a piece of 1 -> 500 -> 1 against " + name,
                 .unit = "us",
                 .round = [&] { return run_flow(worker, fan_plan, few_pieces, sum, few_pieces); },
                 .baseline = description,
                 .baseline_round = rival_round(*system, "fan " + std::to_string(few_pieces), sum),
                 .promises = promises});
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "flow: %s\n", orchid.error().message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  client.deploy_file("flow_functions", FLOW_FUNCTIONS);
  const flow::Plan chain_plan = plan_of(chain(chain_length));
  const flow::Plan fan_plan = plan_of(fan());
  FlowWorkers worker(client, plan_of(fan()), 1);  // has the functions of all
  const auto run_chain = [&] { return run_flow(worker, chain_plan, 7, 7, chain_length); };
  const auto run_fan = [&] {
    return run_flow(worker, fan_plan, pieces, pieces * (pieces + 1) / 2, pieces);
  };
  BareCalls bare(client);
  const auto bare_chain = [&] { return bare.chain(); };
  const auto bare_fan = [&] { return bare.fan(); };
  const Description sdk_calls{"the SDK's calls", bench.command_line(), ""};
  bench.compare({.row = "a node of a chain of 1000",
                 .unit = "us",
                 .round = run_chain,
                 .baseline = sdk_calls,
                 .baseline_round = bare_chain,
                 .promises = {}});
  bench.measure({.row = "what a node of a chain of 1000 adds to its call",
                 .unit = "us",
                 .round = [&] { return difference(run_chain, bare_chain); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 5}}}});
  bench.compare({.row = "a piece of 1 -> 10 000 -> 1",
                 .unit = "us",
                 .round = run_fan,
                 .baseline = sdk_calls,
                 .baseline_round = bare_fan,
                 .promises = {}});
  bench.measure({.row = "what a piece of 1 -> 10 000 -> 1 adds to its call",
                 .unit = "us",
                 .round = [&] { return difference(run_fan, bare_fan); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 5}}}});
  compare_with(bench, "dask", "Dask.distributed", worker);
  compare_with(bench, "parsl", "Parsl", worker);
  compare_with(bench, "hyperqueue", "HyperQueue", worker);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("flow", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flow: %s\n", error.what());
    return 3;
  }
}
