#include "cluster_poll.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "foundation/clock.h"

namespace orchid::slurm {
namespace {

/// Answers from tables in memory, and notes what was asked.
class FakeSlurm final : public SlurmClient {
 public:
  ClusterTables tables;
  std::string silent_for;  // a question that is not answered
  std::vector<std::string> asked;

  Answer<NodeRow> nodes(ClusterTime since) override { return reply("nodes", tables.nodes, since); }
  Answer<JobRow> jobs(ClusterTime since) override { return reply("jobs", tables.jobs, since); }
  Answer<ReservationRow> reservations(ClusterTime since) override {
    return reply("reservations", tables.reservations, since);
  }
  Answer<PartitionRow> partitions(ClusterTime since) override {
    return reply("partitions", tables.partitions, since);
  }

 private:
  template <typename Row>
  Answer<Row> reply(const std::string& name, const Table<Row>& table, ClusterTime since) {
    asked.push_back(name);
    if (name == silent_for) return fail(ErrorCode::unreachable, "connection refused");
    if (table.time <= since) return std::nullopt;
    return table;
  }
};

FakeSlurm a_cluster() {
  FakeSlurm slurm;
  slurm.tables.nodes = {.time = 100, .rows = {{.name = "n1"}}};
  slurm.tables.jobs = {.time = 101, .rows = {{.id = 1}}};
  slurm.tables.reservations = {.time = 102, .rows = {}};
  slurm.tables.partitions = {.time = 103, .rows = {{.name = "batch"}}};
  return slurm;
}

}  // namespace

TEST_CASE("jobs are asked for before nodes, and each table once") {
  FakeSlurm slurm = a_cluster();
  PollCost cost;
  const auto answer = poll_cluster(slurm, {}, SystemClock{}, cost);
  REQUIRE(answer.has_value());
  CHECK(slurm.asked == std::vector<std::string>{"jobs", "nodes", "reservations", "partitions"});
  CHECK(cost.requests == 4);
  CHECK(cost.unchanged == 0);
}

TEST_CASE("what has not changed is not sent again, and what changes rarely not asked each time") {
  FakeSlurm slurm = a_cluster();
  PollCost cost;
  ClusterTables known;
  CHECK(take_answer(known, poll_cluster(slurm, {}, SystemClock{}, cost).value()));
  CHECK(newest_time(known) == 103);
  slurm.asked.clear();
  slurm.tables.jobs.time = 200;
  PollCost second;
  const auto answer =
      poll_cluster(slurm, request_after(known, /*with_slow_tables=*/false), SystemClock{}, second);
  REQUIRE(answer.has_value());
  CHECK(slurm.asked == std::vector<std::string>{"jobs", "nodes"});
  CHECK(second.unchanged == 1);
  CHECK(answer->jobs.has_value());
  CHECK_FALSE(answer->nodes.has_value());
  CHECK(take_answer(known, *answer));
  CHECK_FALSE(take_answer(known, {}));
  CHECK(known.nodes.rows.size() == 1);
}

TEST_CASE("after the first failure nothing more is asked, and nothing counts") {
  FakeSlurm slurm = a_cluster();
  slurm.silent_for = "nodes";
  PollCost cost;
  const auto answer = poll_cluster(slurm, {}, SystemClock{}, cost);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::unreachable);
  CHECK(cost.requests == 2);
}

}  // namespace orchid::slurm
