#include "inventory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "forecast.h"
#include "gres.h"
#include "node_capacity.h"
#include "reservation.h"

namespace orchid::slurm {
namespace {

using NodeUses = std::map<std::string, NodeUse>;

using Names = std::vector<std::string>;

std::map<std::string, Names> partitions_by_node(const ClusterTables& tables) {
  std::map<std::string, Names> found;
  for (const PartitionRow& partition : tables.partitions.rows)
    if (partition.starts_jobs)
      for (const std::string& node : partition.nodes) found[node].push_back(partition.name);
  return found;
}

/// An exclusive job owns all cores and GPUs, but only the memory that it asked for.
SourceShare make_share(const JobRow& job, const JobShareRow& row, const SourceNode& node) {
  SourceShare share{.node = row.node, .cores = {}, .memory = {}, .gpus = {}};
  share.memory = {(job.memory_is_per_cpu ? job.memory_mib * row.cpus : job.memory_mib) << 20};
  if (job.exclusive) {
    share.cores = without(first_numbers(node.cores()), node.reserved_cores);
    for (const SourceGpu& gpu : node.gpus) share.gpus.push_back(gpu.index);
    return share;
  }
  for (const std::uint32_t core : parse_core_list(row.cores).value_or(CoreList{}))
    if (core < node.cores()) share.cores.push_back(core);
  for (const std::uint32_t index : indices_of(parse_gpus(row.gres)))
    if (index < node.gpus.size()) share.gpus.push_back(index);
  return share;
}

SourceJob make_job(const JobRow& row, const std::map<std::string, SourceNode>& nodes) {
  SourceJob job;
  job.id = row.id;
  job.array = row.array;
  job.array_tasks = row.array_tasks;
  job.uid = row.uid;
  job.partition = row.partition;
  job.state = row.state;
  job.exclusive = row.exclusive;
  job.start_time = row.start_time;
  job.end_time = row.end_time;
  job.nodes_wanted = row.nodes_wanted;
  if (row.state == SourceJobState::pending) {
    for (const std::string& name : row.planned_nodes)
      if (nodes.contains(name)) job.planned_nodes.push_back(name);
    job.cores_wanted = row.cpus_wanted;
    return job;
  }
  // A node that is not shown is none that could be counted.
  for (const JobShareRow& share : row.shares)
    if (const auto node = nodes.find(share.node); node != nodes.end())
      job.shares.push_back(make_share(row, share, node->second));
  for (const SourceShare& share : job.shares)
    job.cores_wanted += static_cast<std::uint32_t>(share.cores.size());
  return job;
}

void add_reserved_cores(NodeUses& uses, const ClusterTables& tables,
                        const std::map<std::string, SourceNode>& nodes, ClusterTime now) {
  for (const ReservationRow& row : tables.reservations.rows) {
    if (now < row.start_time || row.end_time <= now) continue;
    for (const auto& [name, part] : parts_of(row, nodes)) {
      NodeUse& use = uses[name];
      use.reserved_cores = united(use.reserved_cores, part.cores);
      use.nameless_cores += part.count - static_cast<std::uint32_t>(part.cores.size());
    }
  }
}

}  // namespace

UnseenCores settle_hidden(Inventory& inventory, const UnseenCores& before) {
  UnseenCores unseen;
  for (auto& [name, node] : inventory.nodes) {
    if (node.hidden_cores == 0) continue;
    unseen.emplace(name, node.hidden_cores);
    const auto known = before.find(name);
    node.hidden_cores = known == before.end() ? 0 : std::min(node.hidden_cores, known->second);
  }
  return unseen;
}

Inventory make_inventory(const ClusterTables& tables, const InventoryOptions& options,
                         ClusterTime now) {
  Inventory inventory;
  auto partitions = partitions_by_node(tables);
  const auto partitions_of = [&](const std::string& node) -> std::optional<Names> {
    if (tables.partitions.hidden) return std::nullopt;
    return std::move(partitions[node]);
  };
  for (const NodeRow& row : tables.nodes.rows)
    inventory.nodes.insert_or_assign(row.name,
                                     describe_node(row, partitions_of(row.name), options));
  NodeUses uses;
  for (const JobRow& row : tables.jobs.rows) {
    SourceJob job = make_job(row, inventory.nodes);
    for (const SourceShare& share : job.shares) {
      NodeUse& use = uses[share.node];
      use.cores = united(use.cores, share.cores);
      use.gpus = united(use.gpus, share.gpus);
      use.memory.value += share.memory.value;
    }
    inventory.jobs.insert_or_assign(row.id, std::move(job));
  }
  add_reserved_cores(uses, tables, inventory.nodes, now);
  for (const NodeRow& row : tables.nodes.rows)
    count_free(inventory.nodes.at(row.name), row, uses[row.name]);
  inventory.forecasts = make_forecasts(tables, inventory, now);
  return inventory;
}

}  // namespace orchid::slurm
