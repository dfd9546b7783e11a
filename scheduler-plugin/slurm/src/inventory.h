// inventory.h: from the rows of slurmctld to what Orchid may count on: who has which cores, and
// what nobody has.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster_tables.h"
#include "protocol/source_messages.h"

namespace orchid::slurm {

struct Inventory {
  std::map<std::string, SourceNode> nodes;
  std::map<std::uint64_t, SourceJob> jobs;
  std::map<std::string, std::vector<SourceWindow>> forecasts;  // of each node
};

struct InventoryOptions {
  /// A node with one of these features is a DPU.
  std::vector<std::string> dpu_features{"dpu"};
};

/// Cores that no job is seen to have, of each node that has some.
using UnseenCores = std::map<std::string, std::uint32_t>;

/// slurmctld tells jobs and nodes one after the other: what starts or ends in between looks like a
/// job that is hidden. So of `hidden_cores` only those stay that were there at the poll before,
/// too. Returns what all of them were, for the next poll.
[[nodiscard]] UnseenCores settle_hidden(Inventory& inventory, const UnseenCores& before);

/// `now` is the cluster's clock, for reservations that are in force and for the forecast.
[[nodiscard]] Inventory make_inventory(const ClusterTables& tables, const InventoryOptions& options,
                                       ClusterTime now);

}  // namespace orchid::slurm
