#include "cluster_poll.h"

#include <algorithm>
#include <utility>

namespace orchid::slurm {
namespace {

/// Puts one question and counts it.
template <typename Row, typename Ask>
Result<void> ask(std::optional<Table<Row>>& place, PollCost& cost, Ask question) {
  ++cost.requests;
  Answer<Row> answer = question();
  if (!answer) return fail(std::move(answer.error()));
  if (!answer->has_value()) ++cost.unchanged;
  place = std::move(*answer);
  return {};
}

template <typename Row>
bool replace(Table<Row>& table, std::optional<Table<Row>>& answer) {
  if (!answer) return false;
  table = std::move(*answer);
  return true;
}

}  // namespace

Result<PollAnswer> poll_cluster(SlurmClient& client, const PollRequest& request, const Clock& clock,
                                PollCost& cost) {
  PollAnswer answer;
  const MonotonicTime begin = clock.now();
  Result<void> done = ask(answer.jobs, cost, [&] { return client.jobs(request.jobs_since); });
  if (done) done = ask(answer.nodes, cost, [&] { return client.nodes(request.nodes_since); });
  if (done && request.with_slow_tables)
    done = ask(answer.reservations, cost,
               [&] { return client.reservations(request.reservations_since); });
  if (done && request.with_slow_tables)
    done =
        ask(answer.partitions, cost, [&] { return client.partitions(request.partitions_since); });
  cost.took = std::chrono::duration_cast<std::chrono::microseconds>(clock.now() - begin);
  if (!done) return fail(std::move(done.error()));
  return answer;
}

PollRequest request_after(const ClusterTables& tables, bool with_slow_tables) {
  return {.nodes_since = tables.nodes.time,
          .jobs_since = tables.jobs.time,
          .reservations_since = tables.reservations.time,
          .partitions_since = tables.partitions.time,
          .with_slow_tables = with_slow_tables};
}

bool take_answer(ClusterTables& tables, PollAnswer answer) {
  bool changed = replace(tables.nodes, answer.nodes);
  changed |= replace(tables.jobs, answer.jobs);
  changed |= replace(tables.reservations, answer.reservations);
  changed |= replace(tables.partitions, answer.partitions);
  return changed;
}

ClusterTime newest_time(const ClusterTables& tables) {
  return std::max(
      {tables.nodes.time, tables.jobs.time, tables.reservations.time, tables.partitions.time});
}

}  // namespace orchid::slurm
