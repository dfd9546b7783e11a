// libslurm/rows.h: from libslurm's structs to rows.
#pragma once
#include <slurm/slurm.h>

#include <optional>
#include <string>
#include <vector>

#include "cluster_tables.h"
#include "libslurm/library.h"

namespace orchid::slurm {

[[nodiscard]] NodeRow make_row(const Library& library, const node_info_t& node);
/// Nothing for a job that has ended and has nothing any more.
[[nodiscard]] std::optional<JobRow> make_row(const Library& library, const job_info_t& job);
[[nodiscard]] ReservationRow make_row(const Library& library, const reserve_info_t& reservation);
[[nodiscard]] PartitionRow make_row(const Library& library, const partition_info_t& partition);

}  // namespace orchid::slurm
