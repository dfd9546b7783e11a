#include "forecast.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cluster_poll.h"
#include "recorded.h"

namespace orchid::slurm {
namespace {

/// One node of 8 cores, 8 GiB and 2 GPUs, without jobs.
ClusterTables empty_node() {
  ClusterTables tables;
  tables.nodes = {.time = 1000,
                  .rows = {{.name = "n1",
                            .gres = "gpu:2",
                            .sockets = 1,
                            .cores_per_socket = 8,
                            .cpus_effective = 8,
                            .memory_mib = 8192}}};
  tables.partitions.rows = {{.name = "batch", .starts_jobs = true, .nodes = {"n1"}}};
  return tables;
}

JobRow running(std::uint64_t id, const std::string& cores, ClusterTime end) {
  const auto list = parse_core_list(cores).value();
  return {
      .id = id,
      .state = SourceJobState::running,
      .end_time = end,
      .memory_mib = 1024,
      .shares = {{.node = "n1", .cores = cores, .cpus = static_cast<std::uint32_t>(list.size())}}};
}

JobRow planned(std::uint64_t id, std::uint32_t cpus, ClusterTime start, ClusterTime end) {
  return {.id = id,
          .state = SourceJobState::pending,
          .start_time = start,
          .end_time = end,
          .memory_mib = 512,
          .memory_is_per_cpu = true,
          .nodes_wanted = 1,
          .cpus_wanted = cpus,
          .planned_nodes = {"n1"}};
}

std::vector<SourceWindow> forecast(const ClusterTables& tables, ClusterTime now = 1000) {
  return make_inventory(tables, {}, now).forecasts.at("n1");
}

}  // namespace

TEST_CASE("an idle node without plans stays as it is") {
  CHECK(forecast(empty_node()) == std::vector<SourceWindow>{{0, 0, 8, 8_GiB, 2}});
}

TEST_CASE("a job gives back what it has at its time limit") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {running(1, "0-2", 1600)};
  CHECK(forecast(tables) ==
        std::vector<SourceWindow>{{0, 1600, 5, 7_GiB, 2}, {1600, 0, 8, 8_GiB, 2}});
}

TEST_CASE(
    "a job without a limit, one that is overdue and one that is suspended give nothing back") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {running(1, "0", 0), running(2, "1", 900), running(3, "2", 1600)};
  tables.jobs.rows[2].state = SourceJobState::suspended;
  CHECK(forecast(tables) == std::vector<SourceWindow>{{0, 0, 5, 5_GiB, 2}});
}

TEST_CASE("a planned job bounds the hole, from its start to its time limit") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {planned(1, 6, 1300, 1900)};
  CHECK(forecast(tables) == std::vector<SourceWindow>{{0, 1300, 8, 8_GiB, 2},
                                                      {1300, 1900, 2, 5_GiB, 2},
                                                      {1900, 0, 8, 8_GiB, 2}});
}

TEST_CASE("a planned job whose time has come leaves no hole") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {planned(1, 8, 990, 1900)};
  CHECK(forecast(tables).front().cores == 0);
  CHECK(forecast(tables).front().until == 1900 + 0);
}

TEST_CASE("an exclusive job takes all that there is") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {planned(1, 1, 1300, 0)};
  tables.jobs.rows[0].exclusive = true;
  CHECK(forecast(tables) ==
        std::vector<SourceWindow>{{0, 1300, 8, 8_GiB, 2}, {1300, 0, 0, 0_B, 0}});
}

TEST_CASE("GPUs that a planned job wants are taken") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {planned(1, 1, 1300, 0)};
  tables.jobs.rows[0].gres_wanted = "gres:gpu:1";
  CHECK(forecast(tables).back().gpus == 1);
}

TEST_CASE("GPUs that a planned job wants for each task or socket are taken for all of them") {
  ClusterTables tables = empty_node();
  tables.jobs.rows = {planned(1, 2, 1300, 0)};
  tables.jobs.rows[0].gres_wanted = "gres:gpu:1";
  tables.jobs.rows[0].gres_times = 2;
  CHECK(forecast(tables).back().gpus == 0);
}

TEST_CASE("the GPUs of a real job that wants one for each task are not free when it is planned") {
  const ClusterTables tables = recorded("planned_gpus");
  const Inventory inventory = inventory_of(tables);
  const JobRow& by_task = tables.jobs.rows.at(1);
  REQUIRE(by_task.state == SourceJobState::pending);
  CHECK(by_task.gres_times == 2);
  const JobRow& by_socket = tables.jobs.rows.at(3);
  REQUIRE(by_socket.state == SourceJobState::pending);
  CHECK(by_socket.gres_times == 2);
  for (const JobRow* job : {&by_task, &by_socket}) {
    REQUIRE(job->planned_nodes.size() == 1);
    const auto& windows = inventory.forecasts.at(job->planned_nodes.front());
    const auto planned_for = [job](const SourceWindow& window) {
      return window.from == job->start_time;
    };
    const auto window = std::ranges::find_if(windows, planned_for);
    REQUIRE(window != windows.end());
    CHECK(window->gpus == 0);
  }
}

TEST_CASE("a job inside a reservation leaves its cores to that, and a longer one keeps them") {
  ClusterTables tables = empty_node();
  tables.reservations.rows = {{.name = "r",
                               .start_time = 900,
                               .end_time = 3000,
                               .nodes = {"n1"},
                               .core_count = 2,
                               .cores = {{"n1", "0-1"}}}};
  tables.jobs.rows = {running(1, "0", 1600)};
  CHECK(forecast(tables) == std::vector<SourceWindow>{{0, 1600, 6, 7_GiB, 2},
                                                      {1600, 3000, 6, 8_GiB, 2},
                                                      {3000, 0, 8, 8_GiB, 2}});
  tables.jobs.rows = {running(1, "0", 4000)};
  CHECK(forecast(tables) == std::vector<SourceWindow>{{0, 3000, 6, 7_GiB, 2},
                                                      {3000, 4000, 7, 7_GiB, 2},
                                                      {4000, 0, 8, 8_GiB, 2}});
  tables.jobs.rows[0].state = SourceJobState::suspended;
  CHECK(forecast(tables).back() == SourceWindow{3000, 0, 7, 7_GiB, 2});
}

TEST_CASE("a reservation to come takes the node, or its cores, for its time") {
  ClusterTables tables = empty_node();
  tables.reservations.rows = {
      {.name = "r", .start_time = 2000, .end_time = 3000, .nodes = {"n1"}, .core_count = 8}};
  CHECK(forecast(tables) == std::vector<SourceWindow>{{0, 2000, 8, 8_GiB, 2},
                                                      {2000, 3000, 0, 0_B, 0},
                                                      {3000, 0, 8, 8_GiB, 2}});
  tables.reservations.rows[0].core_count = 3;
  CHECK(forecast(tables)[1] == SourceWindow{2000, 3000, 5, 8_GiB, 2});
  tables.reservations.rows[0].cores = {{"n1", "0-1"}};
  CHECK(forecast(tables)[1] == SourceWindow{2000, 3000, 6, 8_GiB, 2});
  // In force it has its cores already, and gives them back.
  CHECK(forecast(tables, 2500) ==
        std::vector<SourceWindow>{{0, 3000, 6, 8_GiB, 2}, {3000, 0, 8, 8_GiB, 2}});
}

TEST_CASE("nothing is promised on an unusable node") {
  ClusterTables tables = empty_node();
  tables.nodes.rows[0].conditions = {"drained"};
  tables.jobs.rows = {running(1, "0-2", 1600)};
  CHECK(forecast(tables) == std::vector<SourceWindow>{SourceWindow{}});
}

TEST_CASE("of many steps the first ones are told, and where that ends") {
  ClusterTables tables = empty_node();
  for (std::uint64_t id = 1; id <= 40; ++id)
    tables.jobs.rows.push_back(planned(id, 1 + static_cast<std::uint32_t>(id % 2),
                                       static_cast<ClusterTime>(1000 + 20 * id),
                                       static_cast<ClusterTime>(1010 + 20 * id)));
  const auto windows = forecast(tables);
  CHECK(windows.size() == most_forecast_windows);
  CHECK(windows.back().until != 0);
}

TEST_CASE("what backfill planned on a real cluster is the end of the hole") {
  const ClusterTables tables = recorded("planned");
  const Inventory inventory = inventory_of(tables);
  const JobRow& waiting = tables.jobs.rows.back();
  REQUIRE(waiting.planned_nodes == std::vector<std::string>{"n1", "n2"});
  const auto& windows = inventory.forecasts.at("n1");
  REQUIRE(windows.size() == 4);
  CHECK(windows[0].cores == 6);
  CHECK(windows[1].cores == 8);
  CHECK(windows[1].until == waiting.start_time);
  CHECK(windows[2].cores == 0);
  CHECK(windows[2].until == waiting.start_time + 300);
  CHECK(windows[3].cores == 8);
  // The third node is not in its way.
  CHECK(inventory.forecasts.at("n3").back().cores == 8);
  CHECK(inventory.forecasts.at("n3").size() == 2);
}

}  // namespace orchid::slurm
