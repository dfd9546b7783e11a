// cluster_poll.h: one look at a cluster: which questions are put, and what is kept of the answers.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "cluster_tables.h"
#include "foundation/clock.h"
#include "slurm_client.h"

namespace orchid::slurm {

/// What a poll brought; tables that have not changed are not there.
struct PollAnswer {
  std::optional<Table<NodeRow>> nodes;
  std::optional<Table<JobRow>> jobs;
  std::optional<Table<ReservationRow>> reservations;
  std::optional<Table<PartitionRow>> partitions;
};

/// What a poll refers to and asks for.
struct PollRequest {
  ClusterTime nodes_since = 0;
  ClusterTime jobs_since = 0;
  ClusterTime reservations_since = 0;
  ClusterTime partitions_since = 0;
  bool with_slow_tables = true;  // reservations and partitions, which change rarely
};

struct PollCost {
  std::uint32_t requests = 0;
  std::uint32_t unchanged = 0;  // of them
  std::chrono::microseconds took{0};
};

/// On the thread that owns `client`. After an error nothing of the poll counts. Jobs are asked for
/// before nodes: a job that starts in between is then seen by its nodes' counts only, which leaves
/// too little free instead of too much.
[[nodiscard]] Result<PollAnswer> poll_cluster(SlurmClient& client, const PollRequest& request,
                                              const Clock& clock, PollCost& cost);

[[nodiscard]] PollRequest request_after(const ClusterTables& tables, bool with_slow_tables);
/// True when something has changed.
bool take_answer(ClusterTables& tables, PollAnswer answer);
/// The newest time that the cluster's clock has shown.
[[nodiscard]] ClusterTime newest_time(const ClusterTables& tables);

}  // namespace orchid::slurm
