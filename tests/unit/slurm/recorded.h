// recorded.h: what real clusters answered (tests/data/slurm), as the code under test gets it.
#pragma once
#include <string>

#include "cluster_tables.h"
#include "inventory.h"

namespace orchid::slurm {

/// The tables of tests/data/slurm/NAME.jsonl. Throws std::runtime_error when there are none.
[[nodiscard]] ClusterTables recorded(const std::string& name);
/// What Orchid makes of them, at the moment of the recording.
[[nodiscard]] Inventory inventory_of(const ClusterTables& tables);

}  // namespace orchid::slurm
