// benchmarks/placement.cpp: what does a decision cost in a cluster of 10 000 hosts, and what does
// a poll of Slurm that brings all of them?
//
// 10 000 hosts with 64 cores each, one tenth of them with four GPUs, of two architectures and four
// sets of features; Slurm's jobs have a third of all cores, and each host is granted by the local
// source and by two pilots that overlap with it. Leases are opened and closed at random while two
// thirds of what is free are leased: 1 000 000 of them in a row of 21 rounds. Each decision is
// timed by itself, those that are refused included.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "placement/placement.h"

namespace orchid::bench {
namespace {

using namespace orchid::placement;

constexpr std::uint32_t host_count = 10'000;
constexpr std::uint32_t cores_per_host = 64;
constexpr int decisions_per_round = 48'000;  // 21 rounds: a million
constexpr std::size_t leases_kept = 120'000;
constexpr MonotonicTime start{std::chrono::seconds(1'000)};

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "placement: %s\n", message.c_str());
  std::exit(3);
}

HostId host_id(std::uint32_t number) { return HostId("boot-" + std::to_string(number)); }

Host made_host(std::uint32_t number) {
  Host host{.id = host_id(number),
            .name = "n" + std::to_string(number),
            .architecture = number % 8 == 7 ? "aarch64" : "x86_64",
            .kind = number % 10 == 0 ? HostKind::gpu : HostKind::cpu,
            .features = {},
            .cores = {},
            .memory = {256ULL << 30},
            .gpus = {},
            .watts_per_core = 3};
  if (number % 2 == 0) host.features.emplace_back("avx512");
  if (number % 3 == 0) host.features.emplace_back("ib");
  for (std::uint32_t core = 0; core < cores_per_host; ++core)
    host.cores.push_back({.number = core, .numa_node = core / 32});
  if (number % 10 == 0)
    for (std::uint32_t index = 0; index < 4; ++index)
      host.gpus.push_back({.index = index, .model = "h100", .numa_node = index / 2});
  return host;
}

/// A cluster in use.
class Cluster {
 public:
  explicit Cluster(std::unique_ptr<Policy> policy) : placement_(std::move(policy)) {
    for (std::uint32_t number = 0; number < host_count; ++number) add_host(number);
    (void)placement_.apply(allocations(0), start);
    refill();
    if (open_.size() < leases_kept) give_up("the cluster is too small for its leases");
  }

  /// Closes a lease and opens another; the time that each opening took.
  std::vector<double> churn(int count, const TickRate& rate, bool unanswerable = false) {
    std::vector<double> microseconds;
    microseconds.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const Request wanted = unanswerable ? impossible() : request();
      const std::uint64_t before = ticks_now();
      Decision decision = placement_.open(wanted, start);
      const std::uint64_t after = ticks_now();
      microseconds.push_back(static_cast<double>(rate.duration(after - before).count()) / 1e3);
      if (decision.placed() && unanswerable) give_up("what nobody can meet was placed");
      if (!decision.placed()) {
        ++refused_;
        continue;
      }
      std::swap(open_[random_() % open_.size()], open_.back());
      close(open_.back());
      open_.back() = decision.id;
    }
    return microseconds;
  }

  /// A poll that names all hosts. `change`: how far the jobs have moved on; the same again: nothing
  /// has changed. Milliseconds.
  double refresh(unsigned change, const TickRate& rate) {
    const std::vector<HostAllocation> all = allocations(change);
    const std::uint64_t before = ticks_now();
    const auto losses = placement_.apply(all, start);
    const std::uint64_t after = ticks_now();
    for (const Displaced& loss : losses)
      if (loss.closed) ++lost_;
    return static_cast<double>(rate.duration(after - before).count()) / 1e6;
  }
  /// Opens leases until there are as many as there should be.
  void refill() {
    std::erase_if(open_, [this](DecisionId id) { return !placement_.find(id); });
    for (std::size_t i = 0; i < 2 * leases_kept && open_.size() < leases_kept; ++i)
      if (const Decision decision = placement_.open(request(), start); decision.placed())
        open_.push_back(decision.id);
  }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] std::size_t lost() const { return lost_; }

 private:
  void add_host(std::uint32_t number) {
    const Host host = made_host(number);
    Grant local{.id = GrantId("local-" + std::to_string(number)),
                .host = host.id,
                .source = SourceId("local"),
                .owner = TenantId(0),
                .cores = CoreSet::first(cores_per_host),
                .memory = host.memory,
                .gpus = CoreSet::first(static_cast<std::uint32_t>(host.gpus.size())),
                .job = {}};
    Grant pilot = local;
    pilot.id = GrantId("pilot-a-" + std::to_string(number));
    pilot.cores = CoreSet::first(40) - CoreSet::first(32);
    pilot.memory = {32ULL << 30};
    pilot.gpus = {};
    pilot.job = JobId(1'000'000 + number);
    pilot.until = start + std::chrono::seconds(120 + number % 600);
    Grant other = pilot;
    other.id = GrantId("pilot-b-" + std::to_string(number));
    other.cores = CoreSet::first(44) - CoreSet::first(36);
    other.job = JobId(2'000'000 + number);
    if (!placement_.put_host(host, start)) give_up("a host was refused");
    for (const Grant& grant : {local, pilot, other})
      if (!placement_.put_grant(grant, start)) give_up("a grant was refused");
    if (!placement_.report_watts(host.id, 100.0 + random_() % 300)) give_up("no such host");
  }

  /// Jobs on the first cores of each host, 12 to 28 of them, others with each change.
  [[nodiscard]] static std::vector<HostAllocation> allocations(unsigned change) {
    std::vector<HostAllocation> all;
    all.reserve(host_count);
    for (std::uint32_t number = 0; number < host_count; ++number) {
      const std::uint32_t first = 8 + (number * 7 + change * 5) % 9;
      const std::uint32_t second = 4 + (number * 3 + change * 11) % 9;
      const CoreSet cores = CoreSet::first(first);
      all.push_back(
          {.host = host_id(number),
           .drained = false,
           .jobs = {
               {.job = JobId(10 + number * 2), .cores = cores, .memory = {16ULL << 30}, .gpus = {}},
               {.job = JobId(11 + number * 2),
                .cores = CoreSet::first(first + second) - cores,
                .memory = {16ULL << 30},
                .gpus = {}}}});
    }
    return all;
  }

  Request request() {
    Request wanted{
        .tenant = TenantId(1000 + static_cast<std::uint32_t>(random_() % 50)),
        .worker = {.alternatives = {{.cores = 1, .memory = {1ULL << 30}}},
                   .lifetime = std::chrono::milliseconds(random_() % 4 == 0 ? 300'000 : 10'000)}};
    switch (random_() % 10) {
      case 0:
        wanted.worker.alternatives[0].cores = 4;
        break;
      case 1:
        wanted.worker.alternatives[0].cores = 8;
        break;
      case 2:  // one GPU, or else four cores
        wanted.worker.alternatives = {{.cores = 1, .memory = {1ULL << 30}, .gpus = 1},
                                      {.cores = 4}};
        break;
      case 3:
        wanted.worker.architecture = "aarch64";
        break;
      case 4:
        wanted.worker.features = {"avx512", "ib"};
        break;
      case 5:
        wanted.worker.alternatives[0].memory = {3'333'333'333};
        break;
      case 6:
        wanted.worker.watts_at_most = 600;
        break;
      default:
        break;
    }
    for (int i = 0; i < 4; ++i)
      wanted.worker.near.push_back(host_id(static_cast<std::uint32_t>(random_() % host_count)));
    return wanted;
  }
  /// More cores than any grant has free, of hosts that are there.
  Request impossible() {
    Request wanted = request();
    wanted.worker.alternatives = {{.cores = 1, .memory = {1ULL << 30}, .gpus = 5},
                                  {.cores = 60, .memory = {1ULL << 30}}};
    return wanted;
  }
  void close(DecisionId id) {
    if (!placement_.close(id, start)) give_up("a lease was not there");
  }

  std::mt19937 random_{42};
  Placement placement_;
  std::vector<DecisionId> open_;
  std::size_t lost_ = 0;
  std::size_t refused_ = 0;
};

void measure_decisions(Bench& bench, const TickRate& rate) {
  for (const char* name : {"pack", "spread", "near", "energy"}) {
    Cluster cluster(make_policy(name).value());
    bench.measure({.row = std::string("decision, ") + name,
                   .unit = "us",
                   .round = [&]() -> Result<std::vector<double>> {
                     return cluster.churn(decisions_per_round, rate);
                   },
                   .promises = {{Statistic::p99, {Target::Direction::at_most, 10}}}});
    std::printf("%s: %zu of %d requests were refused\n", name, cluster.refused(),
                bench.rounds() * decisions_per_round);
  }
}

void measure_refusals(Bench& bench, const TickRate& rate) {
  Cluster cluster(make_pack_policy());
  bench.measure({.row = "refusal, with its reasons",
                 .unit = "us",
                 .round = [&]() -> Result<std::vector<double>> {
                   return cluster.churn(decisions_per_round / 4, rate, true);
                 },
                 .promises = {}});
}

void measure_refreshes(Bench& bench, const TickRate& rate) {
  Cluster cluster(make_pack_policy());
  unsigned change = 0;
  bench.measure({.row = "refresh, all hosts changed",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   cluster.refill();
                   return std::vector<double>{cluster.refresh(++change, rate)};
                 },
                 .promises = {{Statistic::p99, {Target::Direction::at_most, 100}}}});
  bench.measure({.row = "refresh, nothing changed",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   return std::vector<double>{cluster.refresh(change, rate)};
                 },
                 .promises = {}});
  std::printf("%zu leases lost their place by %u refreshes\n", cluster.lost(), change);
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  using namespace orchid::bench;
  Bench bench{"placement", argc, argv};
  const orchid::TickRate rate = orchid::TickRate::measure();
  measure_decisions(bench, rate);
  measure_refusals(bench, rate);
  measure_refreshes(bench, rate);
  return bench.report();
}
