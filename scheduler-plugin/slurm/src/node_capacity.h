// node_capacity.h: one node as a source tells of it, and what of it is free.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cluster_tables.h"
#include "inventory.h"
#include "protocol/source_messages.h"

namespace orchid::slurm {

/// What jobs and reservations are seen to have of a node. Jobs of others may be hidden.
struct NodeUse {
  CoreList cores;
  CoreList reserved_cores;           // of reservations that are in force
  std::uint32_t nameless_cores = 0;  // reserved, too, but nobody says which
  CoreList gpus;
  ByteCount memory;
};

/// A node without what anybody has of it. `partitions`: nothing if the site does not show them.
[[nodiscard]] SourceNode describe_node(const NodeRow& row,
                                       std::optional<std::vector<std::string>> partitions,
                                       const InventoryOptions& options);

/// Fills in what is free. Of two counts that do not agree (slurmctld's of allocated CPUs, and the
/// cores of the jobs that it shows) the one that leaves less is taken, and where jobs are hidden
/// only the number of free cores is known.
void count_free(SourceNode& node, const NodeRow& row, const NodeUse& use);

}  // namespace orchid::slurm
