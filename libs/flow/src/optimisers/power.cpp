// As much work as a bound of watts allows. Each host draws something by itself as soon as one of
// its cores works, and something more for each core. KernelHive took the devices with the best
// speed for a watt first, until none fitted; such a choice misses hosts whose own watts pay off
// only together with many of their cores. Here all choices are compared: by dynamic programming
// over tenths of watts, or larger steps where the bound is large.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "flow/usable_hosts.h"
#include "optimisers.h"

namespace orchid::flow {
namespace {

constexpr std::size_t most_steps = 4096;

/// By some node that runs: the bound is one for all open calls, also the last ones of a node.
bool is_usable(const Situation& situation, const HostSituation& host) {
  const auto may = [&](const Constraints& constraints) { return may_use(constraints, host); };
  return (situation.nodes.empty() && situation.running.empty()) ||
         std::ranges::any_of(situation.running, may) ||
         std::ranges::any_of(situation.nodes, may, &ReadyNode::constraints);
}

/// Of those whose speed was learned; empty: of none.
std::string speeds_of(const std::vector<HostSituation>& hosts) {
  constexpr std::size_t most_told = 8;
  std::string text;
  std::size_t told = 0;
  for (const HostSituation& host : hosts)
    if (host.speed != 1 && told++ < most_told)
      text += fmt::format("{} {} {:.2g}", text.empty() ? "; speeds:" : ",", host.name, host.speed);
  return told > most_told ? text + ", …" : text;
}

class Power final : public Optimiser {
 public:
  Power(double watts, double watts_per_core) : watts_(watts), watts_per_core_(watts_per_core) {}
  [[nodiscard]] std::string_view name() const override { return "power"; }
  [[nodiscard]] std::string description() const override {
    return fmt::format(
        "no more calls at once than {:g} W allow, at {:g} W for each core where "
        "hosts report nothing",
        watts_, watts_per_core_);
  }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    // Hosts that are drained or full, or that no node may use, run none of its calls.
    std::vector<HostSituation> hosts = situation.hosts;
    std::erase_if(hosts, [&](const HostSituation& host) {
      return host.cores_free == 0 || !is_usable(situation, host);
    });
    bool is_measured = !hosts.empty();
    // Where it will run is not known: each call is taken for one core of a host that draws nothing
    // else.
    if (hosts.empty()) hosts.push_back({.cores = situation.window, .cores_free = situation.window});
    for (HostSituation& host : hosts) {
      is_measured = is_measured && host.watts.has_value();
      if (host.watts_per_core <= 0) host.watts_per_core = watts_per_core_;
    }
    std::uint32_t cores = 0;
    for (const std::uint32_t count : cores_within(hosts, watts_)) cores += count;
    Decided decided{.nodes = {}, .open_calls = std::max(cores, 1U)};
    for (const ReadyNode& node : situation.nodes)
      decided.nodes.push_back(
          {.node = node.node,
           .why = fmt::format("power: {} calls at once within {:g} W, by {}", *decided.open_calls,
                              watts_,
                              is_measured ? "what hosts report"
                                          : "declared watts: not all hosts report theirs") +
                  speeds_of(hosts)});
    return decided;
  }

 private:
  double watts_;
  double watts_per_core_;
};

/// What the host draws without the flow's calls, which the report has in it.
double own_watts(const HostSituation& host) {
  return std::max(host.watts.value_or(0) - host.cores_own * host.watts_per_core, 0.0);
}

}  // namespace

std::unique_ptr<Optimiser> make_power(double watts, double watts_per_core) {
  return std::make_unique<Power>(watts, watts_per_core);
}

std::vector<std::uint32_t> cores_within(const std::vector<HostSituation>& hosts, double watts) {
  std::vector<std::uint32_t> chosen(hosts.size(), 0);
  if (watts <= 0) return chosen;
  // Each host's watts are rounded up, so that the bound holds whatever the step is.
  const double step = std::max(watts / static_cast<double>(most_steps), 0.1);
  const auto steps = static_cast<std::size_t>(watts / step);
  std::vector<double> best(steps + 1, 0);  // speed within so many steps
  std::vector<std::vector<std::uint32_t>> cores(hosts.size(),
                                                std::vector<std::uint32_t>(steps + 1, 0));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const HostSituation& host = hosts[i];
    std::vector<double> next = best;
    for (std::uint32_t count = 1; count <= host.cores_free; ++count) {
      const double drawn = own_watts(host) + count * host.watts_per_core;
      if (drawn > watts) break;
      const auto needed = static_cast<std::size_t>(std::ceil(drawn / step - 1e-9));
      for (std::size_t bound = needed; bound <= steps; ++bound) {
        const double speed = best[bound - needed] + count * host.speed;
        if (speed <= next[bound]) continue;
        next[bound] = speed;
        cores[i][bound] = count;
      }
    }
    best = std::move(next);
  }
  std::size_t left = steps;
  for (std::size_t i = hosts.size(); i-- > 0;) {
    chosen[i] = cores[i][left];
    if (chosen[i] == 0) continue;
    const double drawn = own_watts(hosts[i]) + chosen[i] * hosts[i].watts_per_core;
    left -= static_cast<std::size_t>(std::ceil(drawn / step - 1e-9));
  }
  return chosen;
}

}  // namespace orchid::flow
