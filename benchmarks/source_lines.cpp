// benchmarks/source_lines.cpp: how long does the gateway read what a capacity source tells of a
// cluster of 10 000 nodes, and how long does one line hold up its control thread?
//
// Each node has 64 cores and two jobs, one in ten has four GPUs, and each has a forecast of two
// windows. Once the source tells everything anew, once what has changed between two polls: a
// hundredth of the jobs. The lines are those that a source writes; they are parsed and put into
// the inventory, as the gateway does with each line when it comes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "harness/bench.h"
#include "protocol/source_inventory.h"

namespace orchid::bench {
namespace {

constexpr std::uint32_t node_count = 10'000;
constexpr std::uint32_t cores_per_job = 24;
constexpr std::uint32_t changed_jobs = 200;

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "source_lines: %s\n", message.c_str());
  std::exit(3);
}

CoreList cores_from(std::uint32_t first, std::uint32_t count) {
  return without(first_numbers(first + count), first_numbers(first));
}

std::string node_name(std::uint32_t number) { return "node" + std::to_string(number); }

SourceNode made_node(std::uint32_t number) {
  SourceNode node{.name = node_name(number),
                  .address = node_name(number) + ".cluster.example",
                  .hostname = node_name(number),
                  .architecture = "x86_64",
                  .features = {"avx512", "ib"},
                  .partitions = {"batch", "idle"},
                  .sockets = 2,
                  .cores_per_socket = 32,
                  .cores_usable = 64,
                  .memory = {256ULL << 30},
                  .cores_free = 64 - 2 * cores_per_job,
                  .free_cores = cores_from(2 * cores_per_job, 64 - 2 * cores_per_job),
                  .memory_free = {128ULL << 30}};
  if (number % 10 == 0) {
    node.kind = SourceNodeKind::gpu;
    for (std::uint32_t index = 0; index < 4; ++index)
      node.gpus.push_back({.index = index, .type = "h100"});
  }
  return node;
}

/// Two jobs on each node; `id` says which half of which node.
SourceJob made_job(std::uint64_t id, ClusterTime end) {
  const auto half = static_cast<std::uint32_t>(id % 2);
  return {.id = id,
          .uid = 1000 + half,
          .partition = "batch",
          .state = SourceJobState::running,
          .start_time = 1'700'000'000,
          .end_time = end,
          .shares = {{.node = node_name(static_cast<std::uint32_t>(id / 2)),
                      .cores = cores_from(half * cores_per_job, cores_per_job),
                      .memory = {64ULL << 30}}},
          .nodes_wanted = 1,
          .cores_wanted = cores_per_job};
}

SourceUpdate everything() {
  constexpr ClusterTime end = 1'700'003'600;
  SourceUpdate update{.full = true, .time = 1'700'000'000};
  for (std::uint32_t number = 0; number < node_count; ++number) {
    update.nodes.push_back(made_node(number));
    for (std::uint64_t half = 0; half < 2; ++half)
      update.jobs.push_back(made_job(std::uint64_t{number} * 2 + half, end));
    update.forecasts.push_back({.node = node_name(number),
                                .windows = {{.until = end, .cores = 16, .memory = {128ULL << 30}},
                                            {.from = end, .cores = 64, .memory = {256ULL << 30}}}});
  }
  return update;
}

SourceUpdate a_few_changes() {
  SourceUpdate update{.time = 1'700'000'002};
  for (std::uint64_t job = 0; job < changed_jobs; ++job) {
    update.jobs.push_back(made_job(job * 100, 1'700'007'200));
    update.nodes.push_back(made_node(static_cast<std::uint32_t>(job * 50)));
  }
  return update;
}

struct Times {
  double all = 0;      // ms
  double longest = 0;  // of one line
};

/// A gateway that hears a source.
class Listener {
 public:
  Times hear(SourceUpdate update) {
    update.sequence = next_sequence_;
    const std::vector<std::string> lines = encode(update);
    next_sequence_ += lines.size();
    Times times;
    bool complete = false;
    for (const std::string& line : lines) {
      const auto start = std::chrono::steady_clock::now();
      complete = take(line);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      times.all += took.count();
      times.longest = std::max(times.longest, took.count());
    }
    if (!complete || inventory_.nodes().size() != node_count ||
        inventory_.jobs().size() != std::size_t{2} * node_count)
      give_up("the inventory is not what was told");
    return times;
  }

 private:
  bool take(const std::string& line) {
    auto message = parse_source_message(line);
    if (!message) give_up(message.error().message);
    auto done = inventory_.apply(std::get<SourceUpdate>(std::move(*message)));
    if (!done) give_up(done.error().message);
    return *done;
  }

  SourceInventory inventory_;
  std::uint64_t next_sequence_ = 1;
};

void measure(Bench& bench, Listener& listener, const std::string& what,
             const SourceUpdate& update) {
  const auto row = [&](const std::string& name, double Times::* which) {
    bench.measure({.row = what + name,
                   .unit = "ms",
                   .round = [&listener, &update, which]() -> Result<std::vector<double>> {
                     return std::vector{listener.hear(update).*which};
                   },
                   .promises = {}});
  };
  row(", all lines", &Times::all);
  row(", the slowest line", &Times::longest);
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  using namespace orchid::bench;
  Bench bench{"source_lines", argc, argv};
  Listener listener;
  measure(bench, listener, "10 000 nodes and 20 000 jobs told anew", everything());
  measure(bench, listener, "200 of the jobs have changed", a_few_changes());
  return bench.report();
}
