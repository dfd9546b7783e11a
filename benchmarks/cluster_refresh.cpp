// benchmarks/cluster_refresh.cpp: how long is the gateway's control thread held up when a capacity
// source has told of a cluster of 10 000 nodes, and each of them has an executor?
//
// This is what follows the last line of an update (reading the lines is source_lines): it goes into
// the inventory, the hosts of the nodes that it is about are looked up by what their executors say,
// and the placement is told who has which cores. Once the source tells everything anew and all jobs
// have other cores than before, once that is so of a hundredth of them, as between two polls.
//
// And what the control thread does for one GET /v1/hosts, which whoever keeps pilots asks for every
// 2 s: in parts, between which other work comes. The text of it is made elsewhere.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "clusters/clusters.h"
#include "harness/bench.h"
#include "large_cluster.h"
#include "reports/hosts_document.h"

namespace orchid::bench {
namespace {

using namespace gateway;

constexpr MonotonicTime start{std::chrono::seconds(1'000)};
constexpr std::uint32_t changed_jobs = 200;
constexpr std::uint32_t shift = 16;  // with it the cores that were free are a job's

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "cluster_refresh: %s\n", message.c_str());
  std::exit(3);
}

/// Offers all of its node's cores.
Executor executor_of(std::uint32_t number) {
  const std::string name = large_cluster::node_name(number);
  HostDescription host{.boot_id = "boot-" + name,
                       .hostname = name,
                       .architecture = "x86_64",
                       .cpu = "znver5",
                       .features = {},
                       .cores = first_numbers(large_cluster::cores_per_node),
                       .memory = {256ULL << 30},
                       .thread_order = first_numbers(large_cluster::cores_per_node),
                       .thread_numa_nodes = {}};
  for (std::uint32_t core = 0; core < large_cluster::cores_per_node; ++core)
    host.thread_numa_nodes.push_back(core / (large_cluster::cores_per_node / 2));
  return {.id = ExecutorId("executor-" + name),
          .owner = {},
          .host = std::move(host),
          .grant = {},
          .granted_by = {},
          .version = {},
          .lane_socket = {},
          .lane_address = name + ":7000",
          .capacity = {}};
}

/// What the gateway knows of its hosts, as `Clusters` does.
class Knowledge final : public HostKnowledge {
 public:
  void learn(SourceUpdate update) {
    update.sequence = ++sequence_;
    if (auto applied = state_.inventory.apply(std::move(update)); !applied)
      give_up(applied.error().message);
  }
  [[nodiscard]] const TouchedNodes& touched() const { return state_.inventory.touched(); }
  [[nodiscard]] const ClusterState& state() const { return state_; }
  [[nodiscard]] std::optional<HostFacts> facts_of(
      const std::vector<const Executor*>& executors) const override {
    const ClusterView view(cluster_, state_.inventory);
    const SourceNode* node = view.node_of(executors);
    if (node == nullptr) give_up("a host is not known");
    return facts_of_node(*node, view.allocation_of(*node, executors));
  }

 private:
  std::string cluster_ = "fern";
  ClusterState state_;
  std::uint64_t sequence_ = 0;
};

class Gateway {
 public:
  Gateway() {
    knowledge_.learn(large_cluster::everything());
    for (std::uint32_t number = 0; number < large_cluster::nodes; ++number) {
      const Executor executor = executor_of(number);
      const std::string boot_id = executor.host.boot_id;
      hosts_.join(executor);
      (void)capacity_.refresh(boot_id, start);
    }
  }

  /// Milliseconds. Afterwards core 0 of node `probe` is free, or a job's.
  [[nodiscard]] double hear(SourceUpdate update, std::uint32_t probe, bool is_free) {
    const auto before = std::chrono::steady_clock::now();
    knowledge_.learn(std::move(update));
    (void)capacity_.refresh_facts(hosts_.boot_ids_of(knowledge_.touched()), start);
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - before;
    const placement::HostId host("boot-" + large_cluster::node_name(probe));
    if (capacity_.placement().host(host)->granted.contains(0) != is_free)
      give_up("the placement does not know what was told");
    return took.count();
  }

  struct Telling {
    double all_ms = 0;
    double slowest_part_ms = 0;
  };
  [[nodiscard]] Telling tell() const {
    Telling telling;
    std::optional<HostsDocument> document;
    const auto timed = [&](auto part) {
      const auto before = std::chrono::steady_clock::now();
      const bool more = part();
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - before;
      telling.all_ms += took.count();
      telling.slowest_part_ms = std::max(telling.slowest_part_ms, took.count());
      return more;
    };
    bool more = timed([&] {
      document.emplace(HostsReport::Parts{.hosts = hosts_,
                                          .leases = leases_,
                                          .capacity = capacity_,
                                          .viewer = {},
                                          .job = std::nullopt},
                       std::vector<const ClusterState*>{&knowledge_.state()});
      return document->go_on(start);
    });
    while (more) more = timed([&] { return document->go_on(start); });
    const nlohmann::json told = document->finish({});
    if (told.at("hosts").size() != large_cluster::nodes ||
        told.at("clusters").at(0).at("nodes").size() != large_cluster::nodes)
      give_up("not all is told");
    return telling;
  }

 private:
  HostBook hosts_;
  Knowledge knowledge_;
  Capacity capacity_{hosts_, {.policy = nullptr, .knowledge = &knowledge_, .tenants = {}}};
  LeaseBook leases_{1, hosts_, capacity_};
};

double everything_anew(Gateway& gateway, bool shifted) {
  return gateway.hear(
      large_cluster::everything(shifted ? large_cluster::jobs : 0, shifted ? shift : 0), 7,
      shifted);
}

/// After `everything_anew` without a shift.
double some_changes(Gateway& gateway, bool shifted) {
  SourceUpdate update{.time = 1'700'000'002};
  for (std::uint32_t i = 0; i < changed_jobs; ++i) {
    update.jobs.push_back(
        large_cluster::job(std::uint64_t{i} * 100, 1'700'007'200, shifted ? shift : 0));
    update.nodes.push_back(large_cluster::node(i * 50));
  }
  return gateway.hear(std::move(update), 50, shifted);
}

void measure(Bench& bench, const std::string& row, const std::function<double(bool)>& once,
             std::vector<Promise> promises) {
  bool shifted = false;
  bench.measure({.row = row,
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   shifted = !shifted;
                   return std::vector{once(shifted)};
                 },
                 .promises = std::move(promises)});
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  using namespace orchid::bench;
  Bench bench{"cluster_refresh", argc, argv};
  Gateway gateway;
  measure(bench, "10 000 nodes with an executor each, all 20 000 jobs changed",
          [&](bool shifted) { return everything_anew(gateway, shifted); },
          {{Statistic::p99, {Target::Direction::at_most, 100}}});
  (void)everything_anew(gateway, false);
  measure(bench, "200 of the jobs have changed",
          [&](bool shifted) { return some_changes(gateway, shifted); }, {});
  measure(bench, "GET /v1/hosts, in all", [&](bool) { return gateway.tell().all_ms; }, {});
  measure(bench, "the same, its slowest part", [&](bool) { return gateway.tell().slowest_part_ms; },
          {});
  return bench.report();
}
