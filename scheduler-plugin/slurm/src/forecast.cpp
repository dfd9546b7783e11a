#include "forecast.h"

#include <algorithm>
#include <limits>

#include "gres.h"
#include "reservation.h"

namespace orchid::slurm {
namespace {

struct Amount {
  std::int64_t cores = 0;
  std::int64_t memory = 0;
  std::int64_t gpus = 0;
  Amount& operator+=(const Amount& other) {
    cores += other.cores;
    memory += other.memory;
    gpus += other.gpus;
    return *this;
  }
  [[nodiscard]] Amount negative() const { return {-cores, -memory, -gpus}; }
};

/// What a node gains and loses, by time.
using Steps = std::map<ClusterTime, Amount>;
using StepsByNode = std::map<std::string, Steps>;

constexpr ClusterTime never = std::numeric_limits<ClusterTime>::max();

Amount all_of(const SourceNode& node) {
  return {node.cores_usable, static_cast<std::int64_t>(node.memory.value),
          static_cast<std::int64_t>(node.gpus.size())};
}

void take(Steps& steps, const Amount& amount, ClusterTime from, ClusterTime until) {
  steps[from] += amount.negative();
  if (until != never) steps[until] += amount;
}

/// Until when somebody has a core, by node and number. A job in a reservation has cores that both
/// hold: they come free with the later end.
using CoreEnds = std::map<std::string, std::map<std::uint32_t, ClusterTime>>;

void hold(CoreEnds& ends, const std::string& node, const CoreList& cores, ClusterTime until) {
  for (const std::uint32_t core : cores) {
    ClusterTime& end = ends[node][core];
    end = std::max(end, until);
  }
}

void add_core_ends(StepsByNode& steps, const CoreEnds& ends) {
  for (const auto& [node, cores] : ends)
    for (const auto& [core, end] : cores)
      if (end != never) steps[node][end].cores += 1;
}

/// What a running job gives back at its end. One that is overdue ends when it ends.
void add_ends(StepsByNode& steps, CoreEnds& ends, const Inventory& inventory, ClusterTime now) {
  for (const auto& [id, job] : inventory.jobs) {
    const bool ends_in_time = job.state == SourceJobState::running && job.end_time > now;
    const ClusterTime end = ends_in_time ? job.end_time : never;
    for (const SourceShare& share : job.shares) {
      hold(ends, share.node, share.cores, end);
      if (ends_in_time)
        steps[share.node][end] += {.memory = static_cast<std::int64_t>(share.memory.value),
                                   .gpus = static_cast<std::int64_t>(share.gpus.size())};
    }
  }
}

/// On each of its nodes: an even part of what it wants, rounded up. Slurm does not say more.
Amount wanted_of(const JobRow& job, const SourceNode& node) {
  if (job.exclusive) return all_of(node);
  const std::uint32_t nodes = std::max<std::uint32_t>(1, job.nodes_wanted);
  const std::uint32_t cpus = (job.cpus_wanted + nodes - 1) / nodes;
  const std::uint32_t cores = (cpus + node.threads_per_core - 1) / node.threads_per_core;
  const std::uint64_t mib = job.memory_is_per_cpu ? job.memory_mib * cpus : job.memory_mib;
  const std::int64_t gpus =
      static_cast<std::int64_t>(count_of(parse_gpus(job.gres_wanted))) * job.gres_times;
  return {cores, static_cast<std::int64_t>(mib << 20), gpus};
}

void add_planned_starts(StepsByNode& steps, const ClusterTables& tables, const Inventory& inventory,
                        ClusterTime now) {
  for (const JobRow& job : tables.jobs.rows) {
    if (job.state != SourceJobState::pending || job.start_time == 0) continue;
    // Planned for a moment that has passed: it may start with the next look at the queue.
    const ClusterTime start = std::max(job.start_time, now);
    const ClusterTime end = job.end_time > start ? job.end_time : never;
    for (const std::string& name : job.planned_nodes)
      if (const auto node = inventory.nodes.find(name); node != inventory.nodes.end())
        take(steps[name], wanted_of(job, node->second), start, end);
  }
}

void add_reservations(StepsByNode& steps, CoreEnds& ends, const ClusterTables& tables,
                      const Inventory& inventory, ClusterTime now) {
  for (const ReservationRow& row : tables.reservations.rows) {
    if (row.end_time <= now) continue;
    for (const auto& [name, part] : parts_of(row, inventory.nodes)) {
      const SourceNode& node = inventory.nodes.at(name);
      Amount amount = part.is_whole_node ? all_of(node) : Amount{.cores = part.count};
      if (row.start_time > now) {
        take(steps[name], amount, row.start_time, row.end_time);
        continue;
      }
      // What one in force has is not free already.
      const CoreList named = without(part.cores, node.reserved_cores);
      hold(ends, name, named, row.end_time);
      if (!part.cores.empty()) amount.cores = 0;
      steps[name][row.end_time] += amount;
    }
  }
}

std::vector<SourceWindow> windows_of(const SourceNode& node, const Steps& steps, ClusterTime now) {
  if (node.state == SourceNodeState::unusable) return {SourceWindow{}};
  Amount free{node.cores_free, static_cast<std::int64_t>(node.memory_free.value), node.gpus_free};
  const Amount all = all_of(node);
  const auto window = [&](ClusterTime from) {
    const auto within = [](std::int64_t amount, std::int64_t most) {
      return std::clamp<std::int64_t>(amount, 0, most);
    };
    return SourceWindow{.from = from,
                        .until = 0,
                        .cores = static_cast<std::uint32_t>(within(free.cores, all.cores)),
                        .memory = {static_cast<std::uint64_t>(within(free.memory, all.memory))},
                        .gpus = static_cast<std::uint32_t>(within(free.gpus, all.gpus))};
  };
  std::vector<SourceWindow> windows{window(0)};
  for (const auto& [time, amount] : steps) {
    free += amount;
    SourceWindow next = window(time);
    SourceWindow& last = windows.back();
    if (time <= now) {
      last = window(0);
      continue;
    }
    if (next.cores == last.cores && next.memory == last.memory && next.gpus == last.gpus) continue;
    last.until = time;
    if (windows.size() == most_forecast_windows) break;
    windows.push_back(next);
  }
  return windows;
}

}  // namespace

std::map<std::string, std::vector<SourceWindow>> make_forecasts(const ClusterTables& tables,
                                                                const Inventory& inventory,
                                                                ClusterTime now) {
  StepsByNode steps;
  CoreEnds ends;
  add_ends(steps, ends, inventory, now);
  add_planned_starts(steps, tables, inventory, now);
  add_reservations(steps, ends, tables, inventory, now);
  add_core_ends(steps, ends);
  std::map<std::string, std::vector<SourceWindow>> forecasts;
  for (const auto& [name, node] : inventory.nodes)
    forecasts.emplace(name, windows_of(node, steps[name], now));
  return forecasts;
}

}  // namespace orchid::slurm
