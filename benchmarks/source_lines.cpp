// benchmarks/source_lines.cpp: how long does the gateway read what a capacity source tells of a
// cluster of 10 000 nodes, and how long does one line hold up its control thread?
//
// Once the source tells everything anew, once what has changed between two polls: a hundredth of
// the jobs. The lines are those that a source writes; they are parsed and put into the inventory,
// as the gateway does with each line when it comes. What it does after the last of them is
// cluster_refresh.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "harness/bench.h"
#include "large_cluster.h"
#include "protocol/source_inventory.h"

namespace orchid::bench {
namespace {

constexpr std::uint32_t changed_jobs = 200;

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "source_lines: %s\n", message.c_str());
  std::exit(3);
}

SourceUpdate a_few_changes() {
  SourceUpdate update{.time = 1'700'000'002};
  for (std::uint64_t job = 0; job < changed_jobs; ++job) {
    update.jobs.push_back(large_cluster::job(job * 100, 1'700'007'200));
    update.nodes.push_back(large_cluster::node(static_cast<std::uint32_t>(job * 50)));
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
    if (!complete || inventory_.nodes().size() != large_cluster::nodes ||
        inventory_.jobs().size() != large_cluster::jobs)
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
  measure(bench, listener, "10 000 nodes and 20 000 jobs told anew", large_cluster::everything());
  measure(bench, listener, "200 of the jobs have changed", a_few_changes());
  return bench.report();
}
