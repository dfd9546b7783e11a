// slurm_client.h: the questions that are put to slurmctld. libslurm answers them in the program,
// recordings in tests.
#pragma once
#include <optional>
#include <string>

#include "cluster_tables.h"
#include "foundation/result.h"

namespace orchid::slurm {

/// Nothing: unchanged since the time that was asked for.
template <typename Row>
using Answer = Result<std::optional<Table<Row>>>;

/// Owned by one thread, and used only there. Each question is one request to slurmctld and may
/// take as long as that one likes. Errors: `unreachable`, `unauthenticated`, `unsupported` (another
/// release), `denied`, `timed_out`, `system`.
class SlurmClient {
 public:
  virtual ~SlurmClient() = default;
  [[nodiscard]] virtual Answer<NodeRow> nodes(ClusterTime since) = 0;
  [[nodiscard]] virtual Answer<JobRow> jobs(ClusterTime since) = 0;
  [[nodiscard]] virtual Answer<ReservationRow> reservations(ClusterTime since) = 0;
  [[nodiscard]] virtual Answer<PartitionRow> partitions(ClusterTime since) = 0;
};

}  // namespace orchid::slurm
