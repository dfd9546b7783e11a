#include "inventory.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "recorded.h"

namespace orchid::slurm {
namespace {

using Names = std::vector<std::string>;

const SourceShare& only_share(const Inventory& inventory, std::uint64_t job) {
  const SourceJob& found = inventory.jobs.at(job);
  REQUIRE(found.shares.size() == 1);
  return found.shares.front();
}

}  // namespace

TEST_CASE("an idle cluster has all of its cores, GPUs and memory free") {
  const Inventory inventory = inventory_of(recorded("idle"));
  REQUIRE(inventory.nodes.size() == 3);
  const SourceNode& node = inventory.nodes.at("n1");
  CHECK(node.state == SourceNodeState::usable);
  CHECK(node.why.empty());
  CHECK(node.address == "127.0.0.1");
  CHECK(node.hostname == "localhost");
  CHECK(node.architecture == "x86_64");
  CHECK(node.sockets == 2);
  CHECK(node.cores_per_socket == 4);
  CHECK(node.threads_per_core == 2);
  CHECK(node.cores_usable == 8);
  CHECK(node.free_cores == first_numbers(8));
  CHECK(node.memory == 4_GiB);
  CHECK(node.memory_free == 4_GiB);
  CHECK(node.free_gpus == CoreList{0, 1});
  CHECK(node.partitions == Names{"batch", "idle"});
}

TEST_CASE("a node with GPUs is one, and a node with the feature is a DPU") {
  const Inventory inventory = inventory_of(recorded("idle"));
  CHECK(inventory.nodes.at("n1").kind == SourceNodeKind::gpu);
  CHECK(inventory.nodes.at("n3").kind == SourceNodeKind::dpu);
  CHECK(inventory.nodes.at("n3").features == Names{"dpu"});
  CHECK(inventory.nodes.at("n3").gpus.empty());
  const Inventory none = make_inventory(recorded("idle"), {.dpu_features = {"bluefield"}}, 0);
  CHECK(none.nodes.at("n3").kind == SourceNodeKind::cpu);
}

TEST_CASE("jobs on a part of a node leave the other cores, by their numbers") {
  const Inventory inventory = inventory_of(recorded("partly_used"));
  // Five tasks on cores of two threads take three cores: two of the first socket, one of the
  // second.
  CHECK(only_share(inventory, 1).cores == CoreList{0, 1, 4});
  CHECK(only_share(inventory, 1).memory == 768_MiB);
  CHECK(only_share(inventory, 2).gpus == CoreList{0});
  const SourceNode& node = inventory.nodes.at("n1");
  CHECK(node.cores_free == 4);
  CHECK(node.free_cores == CoreList{3, 5, 6, 7});
  CHECK(node.memory_free == 3_GiB);
  CHECK(node.free_gpus == CoreList{1});
  CHECK(inventory.nodes.at("n2").cores_free == 8);
}

TEST_CASE("a suspended job keeps its cores, though slurmctld counts them as not allocated") {
  const ClusterTables tables = recorded("suspended");
  REQUIRE(tables.nodes.rows.at(0).cpus_allocated == 0);
  const Inventory inventory = inventory_of(tables);
  CHECK(inventory.jobs.begin()->second.state == SourceJobState::suspended);
  CHECK(inventory.nodes.at("n1").free_cores == CoreList{1, 2, 3, 5, 6, 7});
  CHECK(inventory.nodes.at("n1").memory_free == 3584_MiB);
}

TEST_CASE("a job that is completing keeps what it has until it has gone") {
  const ClusterTables tables = recorded("completing");
  REQUIRE(tables.nodes.rows.at(0).cpus_allocated == 0);
  REQUIRE(tables.nodes.rows.at(0).memory_allocated_mib == 0);
  const Inventory inventory = inventory_of(tables);
  CHECK(inventory.jobs.begin()->second.state == SourceJobState::completing);
  CHECK(inventory.nodes.at("n1").free_cores == CoreList{1, 2, 3, 5, 6, 7});
  CHECK(inventory.nodes.at("n1").memory_free == 3584_MiB);
}

TEST_CASE("of a job that is completing on some of its nodes, each of these has its own cores") {
  const ClusterTables tables = recorded("completing_in_part");
  const Inventory inventory = inventory_of(tables);
  // It had 1-3 and 5-7 of the first node.
  REQUIRE(inventory.jobs.at(2).state == SourceJobState::completing);
  const SourceShare& share = only_share(inventory, 2);
  CHECK(share.node == "n2");
  CHECK(share.cores == CoreList{0, 4});
  CHECK(share.memory == 512_MiB);
  CHECK(inventory.nodes.at("n1").free_cores == CoreList{1, 2, 3, 5, 6, 7});
  CHECK(inventory.nodes.at("n2").free_cores == CoreList{1, 2, 3, 5, 6, 7});
}

TEST_CASE(
    "an exclusive job owns all cores and GPUs of its node, and the memory that it asked for") {
  const Inventory inventory = inventory_of(recorded("exclusive"));
  const SourceShare& share = only_share(inventory, inventory.jobs.begin()->first);
  CHECK(inventory.jobs.begin()->second.exclusive);
  CHECK(share.cores == first_numbers(8));
  CHECK(share.gpus == CoreList{0, 1});
  CHECK(share.memory == 512_MiB);
  const SourceNode& node = inventory.nodes.at("n2");
  CHECK(node.cores_free == 0);
  CHECK(node.gpus_free == 0);
  CHECK(node.memory_free == 3584_MiB);
}

TEST_CASE("an exclusive job owns its node even if slurmctld shows one core") {
  ClusterTables tables = recorded("partly_used");
  tables.jobs.rows.at(0).exclusive = true;
  CHECK(inventory_of(tables).nodes.at("n1").cores_free == 0);
  CHECK(inventory_of(tables).nodes.at("n1").gpus_free == 0);
}

TEST_CASE("a node that one user has for himself is nobody else's") {
  const SourceNode node = inventory_of(recorded("exclusive_user")).nodes.at("n1");
  CHECK(node.state == SourceNodeState::unusable);
  CHECK(node.why == Names{"exclusive_user"});
  CHECK(node.cores_free == 0);
}

TEST_CASE("a drained node has nothing free, used or not, and says why") {
  const Inventory inventory = inventory_of(recorded("drained"));
  for (const char* name : {"n1", "n2"}) {
    const SourceNode& node = inventory.nodes.at(name);
    CHECK(node.state == SourceNodeState::unusable);
    CHECK(node.why == Names{"drained"});
    CHECK(node.reason == "bad fan");
    CHECK(node.cores_free == 0);
    CHECK(node.memory_free == 0_B);
  }
  CHECK(inventory.nodes.at("n3").state == SourceNodeState::usable);
}

TEST_CASE("each condition in which a node takes no work makes it unusable") {
  for (const char* condition :
       {"down", "unknown", "future", "error", "drained", "failing", "maintenance", "reserved",
        "no_response", "powering_down", "powered_down", "powering_up", "power_drained", "rebooting",
        "invalid_registration"}) {
    ClusterTables tables = recorded("idle");
    tables.nodes.rows.at(0).conditions = {condition};
    const SourceNode node = inventory_of(tables).nodes.at("n1");
    CHECK(node.state == SourceNodeState::unusable);
    CHECK(node.why == Names{condition});
    CHECK(node.cores_free == 0);
  }
}

TEST_CASE("a node that is planned for a job can be used meanwhile") {
  ClusterTables tables = recorded("idle");
  tables.nodes.rows.at(0).conditions = {"planned"};
  const SourceNode node = inventory_of(tables).nodes.at("n1");
  CHECK(node.state == SourceNodeState::planned);
  CHECK(node.cores_free == 8);
}

TEST_CASE("a node without a partition that starts jobs is unusable") {
  ClusterTables tables = recorded("idle");
  for (PartitionRow& partition : tables.partitions.rows) partition.starts_jobs = false;
  CHECK(inventory_of(tables).nodes.at("n1").why == Names{"no_partition"});
}

TEST_CASE("where the site hides its partitions, a node is judged without them") {
  ClusterTables tables = recorded("idle");
  tables.partitions = {.hidden = true};
  const SourceNode node = inventory_of(tables).nodes.at("n1");
  CHECK(node.state == SourceNodeState::usable);
  CHECK(node.partitions.empty());
}

TEST_CASE("reserved nodes are unusable, and reserved cores are not free") {
  CHECK(inventory_of(recorded("reserved")).nodes.at("n1").why == Names{"reserved"});
  ClusterTables tables = recorded("idle");
  tables.reservations.rows = {{.name = "named",
                               .start_time = tables.nodes.time - 10,
                               .end_time = tables.nodes.time + 10,
                               .nodes = {"n1"},
                               .core_count = 2,
                               .cores = {{"n1", "0-1"}}}};
  CHECK(inventory_of(tables).nodes.at("n1").free_cores == CoreList{2, 3, 4, 5, 6, 7});
  tables.reservations.rows.at(0).cores.clear();
  // slurmctld does not say which ones: then only their number is known.
  CHECK(inventory_of(tables).nodes.at("n1").cores_free == 6);
  CHECK_FALSE(inventory_of(tables).nodes.at("n1").free_cores.has_value());
  tables.reservations.rows.at(0).end_time = tables.nodes.time;
  CHECK(inventory_of(tables).nodes.at("n1").cores_free == 8);
}

TEST_CASE("cores and memory that Slurm keeps for its daemons are no capacity") {
  const SourceNode node = inventory_of(recorded("core_specialisation")).nodes.at("n1");
  CHECK(node.reserved_cores == CoreList{3, 7});
  CHECK(node.cores_usable == 6);
  CHECK(node.free_cores == CoreList{1, 2, 5, 6});
  CHECK(node.memory == 3584_MiB);
  CHECK(node.memory_free == 3_GiB);
}

TEST_CASE("where only the number of specialised cores is known, free cores have no numbers") {
  ClusterTables tables = recorded("core_specialisation");
  tables.nodes.rows.at(0).reserved_cpus.clear();
  const SourceNode node = inventory_of(tables).nodes.at("n1");
  CHECK(node.cores_free == 4);
  CHECK_FALSE(node.free_cores.has_value());
}

TEST_CASE("where jobs of others are hidden, free cores are counted by the node's own number") {
  const Inventory inventory = inventory_of(recorded("private_data"));
  REQUIRE(inventory.jobs.size() == 1);
  const SourceNode& hidden = inventory.nodes.at("n1");
  CHECK(hidden.cores_free == 5);
  CHECK_FALSE(hidden.free_cores.has_value());
  CHECK(hidden.hidden_cores == 3);
  CHECK(hidden.gpus_free == 1);
  CHECK_FALSE(hidden.free_gpus.has_value());
  CHECK(hidden.memory_free == 3328_MiB);
  // Its one job is the user's own.
  CHECK(inventory.nodes.at("n2").free_cores == CoreList{1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("hidden jobs are believed when two polls in a row have them") {
  const Inventory told = inventory_of(recorded("private_data"));
  const auto hidden_at = [&told](const UnseenCores& before) {
    Inventory inventory = told;
    CHECK(settle_hidden(inventory, before) == UnseenCores{{"n1", 3}});
    return inventory.nodes.at("n1").hidden_cores;
  };
  CHECK(hidden_at({}) == 0);
  CHECK(hidden_at({{"n2", 3}}) == 0);
  CHECK(hidden_at({{"n1", 1}}) == 1);
  CHECK(hidden_at({{"n1", 4}}) == 3);
}

TEST_CASE("the tasks of an array that run are jobs, and those that wait are one") {
  const Inventory inventory = inventory_of(recorded("array"));
  REQUIRE(inventory.jobs.size() == 3);
  std::vector<std::string> running;
  std::string waiting;
  for (const auto& [id, job] : inventory.jobs) {
    CHECK(job.array != 0);
    if (job.state == SourceJobState::pending)
      waiting = job.array_tasks;
    else
      running.push_back(job.array_tasks);
  }
  std::ranges::sort(running);
  CHECK(running == Names{"1", "2"});
  CHECK(waiting == "3-6%2");
  CHECK(inventory.nodes.at("n1").cores_free == 6);
}

TEST_CASE("numbers that contradict each other leave too little rather than too much") {
  ClusterTables tables = recorded("partly_used");
  NodeRow& node = tables.nodes.rows.at(0);
  node.cpus_allocated = 1000;
  node.memory_allocated_mib = 1U << 30;
  CHECK(inventory_of(tables).nodes.at("n1").cores_free == 0);
  CHECK(inventory_of(tables).nodes.at("n1").memory_free == 0_B);
  node.threads_per_core = 0;
  node.sockets = 0;
  node.cpus_effective = 60'000;
  node.gres_used = "gpu:900";
  tables.jobs.rows.at(0).shares.at(0).cores = "5-3,x";
  tables.jobs.rows.at(1).shares.at(0).node = "elsewhere";
  const SourceNode odd = inventory_of(tables).nodes.at("n1");
  CHECK(odd.cores_free <= odd.cores_usable);
  CHECK(odd.gpus_free == 0);
}

TEST_CASE("an empty cluster has an empty inventory") {
  const Inventory inventory = make_inventory({}, {}, 0);
  CHECK(inventory.nodes.empty());
  CHECK(inventory.jobs.empty());
  CHECK(inventory.forecasts.empty());
}

}  // namespace orchid::slurm
