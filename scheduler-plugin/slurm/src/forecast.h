// forecast.h: how long what is free on a node stays free, and what becomes free, when nothing new
// is submitted: the holes that backfill leaves.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cluster_tables.h"
#include "inventory.h"

namespace orchid::slurm {

/// A node's windows beyond so many are not told; the last one's end is then where knowledge ends.
constexpr std::size_t most_forecast_windows = 16;

/// Uses `inventory`'s nodes and jobs. Jobs give back what they have at their time limits, and not
/// before; planned jobs take theirs from their planned start to their time limit; reservations take
/// whole nodes, or their cores. A suspended job gives nothing back, since nobody knows when.
[[nodiscard]] std::map<std::string, std::vector<SourceWindow>> make_forecasts(
    const ClusterTables& tables, const Inventory& inventory, ClusterTime now);

}  // namespace orchid::slurm
