// Dispatchers whose workers have more than one core: which alternative they get, and what is said
// where there are not enough.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "call_world.h"
#include "leases/worker_broker.h"

namespace orchid::gateway {
namespace {

/// One core, and memory for data, which it copies.
Executor copying_executor(const std::string& host, const ExecutorId& id) {
  Executor executor{
      .id = id, .owner = {}, .host = {.boot_id = host, .hostname = host, .memory = 8_GiB}};
  executor.host.cores = {0};
  executor.lane_address = "10.0.0.1:1";
  executor.copies_data = true;
  executor.data_memory = 1_GiB;
  return executor;
}

Supply last_supply(const std::vector<BrokerAction>& actions, HolderId id) {
  Supply last;
  for (const BrokerAction& action : actions)
    if (const auto* supply = std::get_if<TellSupply>(&action); supply && supply->holder == id)
      last = supply->supply;
  return last;
}

}  // namespace

TEST_CASE("each worker has the best alternative that there is for it") {
  CallWorld world;
  world.broker.add_dispatcher(wide, {}, {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 2}}});
  world.join_host("here", 4);
  world.join_host("there", 2, 1);
  world.want(wide, 3);
  REQUIRE(world.given[wide].size() == 3);
  CHECK(world.lease_of(wide, 0).executor ==
        ExecutorId("on-there"));  // a GPU elsewhere before cores here
  CHECK(world.lease_of(wide, 0).gpus.size() == 1);
  for (const std::size_t other : {1, 2}) {
    CHECK(world.lease_of(wide, other).executor == ExecutorId("on-here"));
    CHECK(world.lease_of(wide, other).cores_per_worker == 2);
    CHECK(world.lease_of(wide, other).gpus.empty());
  }
}

TEST_CASE("what is wanted and has no place is told with all its alternatives") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true, .grows = true});
  broker.add_dispatcher(wide, {}, {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}}});
  broker.want_workers(wide, 2, MonotonicTime{});
  const auto demand = broker.demand();
  REQUIRE(demand.size() == 1);
  CHECK(demand[0].workers == 2);
  REQUIRE(demand[0].worker.alternatives.size() == 2);
  CHECK(demand[0].worker.alternatives[0].gpus == 1);
  CHECK(demand[0].worker.alternatives[1].cores == 4);
}

TEST_CASE("a place of several cores that nobody wants is given for one core") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(wide, {}, {.alternatives = {{.cores = 2}}});
  world.join(e1, 2);
  world.want(wide, 1);
  world.want(wide, 0);  // idle, and kept for a while
  world.want(a, 2);
  CHECK(world.asked_back[wide] == 1);  // not once for each core
  world.give_back(wide);
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("where GPUs are missing those are asked that have some") {
  CallWorld world;
  world.join_host("here", 4, 1);
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {}, {.alternatives = {{.cores = 1, .gpus = 1}}});
  world.want(b, 1);
  world.want(b, 0);
  world.want(a, 3);
  world.want(a, 0);  // more that nobody wants
  world.broker.add_dispatcher(wide, {}, {.alternatives = {{.cores = 1, .gpus = 1}}});
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 0);
  CHECK(world.asked_back[b] == 1);
  world.give_back(b);
  REQUIRE(world.given[wide].size() == 1);
  CHECK(world.lease_of(wide).gpus.size() == 1);
}

TEST_CASE("a quota of GPUs leaves the alternative of cores") {
  CallWorld world({.tenants = {{"ada", {.quota = {.gpus = 0}}}}});
  const LeaseTenant ada{.uid = 1, .name = "ada"};
  world.add(a, one_core_worker(), std::chrono::seconds(1));
  world.join_host("here", 4, 1);
  world.want(a, 8);
  REQUIRE(world.given[a].size() == 4);
  world.add(wide, Shapes{{.cores = 1, .gpus = 1}, {.cores = 4}}, std::chrono::seconds(1), ada);
  world.want(wide, 1);
  REQUIRE(world.broker.refusal_of(wide).has_value());
  CHECK(world.broker.refusal_of(wide)->code == ErrorCode::no_capacity);
  REQUIRE(world.broker.reservations().all().size() == 1);
  CHECK(world.broker.reservations().all().at("here").shape.cores == 4);
  CHECK(world.asked_back[a] == 4);
  const auto demand = world.broker.demand();
  const auto wanted = std::ranges::find(
      demand, 4U, [](const auto& one) { return one.worker.alternatives.front().cores; });
  REQUIRE(wanted != demand.end());
  CHECK(wanted->worker.alternatives.size() == 1);  // pilots with a GPU would be of no use to it
  for (int left = 4; left > 0; --left) world.give_back(a);
  REQUIRE(world.given[wide].size() == 1);
  CHECK(world.lease_of(wide).cores_per_worker == 4);
}

TEST_CASE("a need that no host can meet is told with what there is, until one can") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true});
  const auto join = [&](const char* id, std::uint32_t cores) {
    Executor executor{.id = ExecutorId(id),
                      .owner = {},
                      .host = {.boot_id = id, .hostname = id, .memory = 8_GiB}};
    executor.lane_address = "10.0.0.1:1";
    for (std::uint32_t core = 0; core < cores; ++core) executor.host.cores.push_back(core);
    broker.executor_joined(executor, {}, MonotonicTime{});
  };
  broker.add_dispatcher(wide, {}, {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}}});
  broker.add_dispatcher(b, {}, {.alternatives = {{.cores = 1, .memory = 16_GiB}}});
  Supply told = last_supply(broker.take_actions(), wide);
  CHECK_FALSE(told.exists);
  CHECK(told.missing.empty());  // nothing is there
  join("e1", 1);
  join("e2", 2);
  const auto actions = broker.take_actions();
  told = last_supply(actions, wide);
  CHECK_FALSE(told.exists);
  CHECK(told.missing ==
        "it needs 1 GPU or 4 cores; the largest host offers 2 cores and none a GPU");
  CHECK(last_supply(actions, b).missing ==
        "it needs 1 core, 16 GiB; the largest host offers 2 cores, with 8 GiB of memory");
  CHECK(broker.has_supply());  // of one core
  join("e3", 4);
  told = last_supply(broker.take_actions(), wide);
  CHECK(told.exists);
  CHECK(told.missing.empty());
  const GrantChanged shrunk{.cores = {0, 1, 2}};
  broker.executor_said(ExecutorId("e3"), shrunk, MonotonicTime{});
  told = last_supply(broker.take_actions(), wide);
  CHECK_FALSE(told.exists);
  CHECK(told.missing.find("offers 3 cores") != std::string::npos);
}

TEST_CASE("where data lies that has no core left, calls are told whether others have one") {
  World world({.epoch = 1, .boot_id = "here", .remote_dispatch = true});
  Executor with_data = copying_executor("here", e1);
  world.broker.executor_joined(with_data, {}, world.now);
  world.broker.add_dispatcher(wide, {}, {.data_at = placement::GrantId(e1.value())});
  world.perform();
  CHECK(world.supply[wide].exists);
  const auto pass = [&](std::chrono::milliseconds time) {
    world.now += time;
    world.broker.tick(world.now);
    world.perform();
  };
  world.broker.executor_said(e1, GrantChanged{}, world.now);
  pass(std::chrono::seconds(1));
  CHECK(world.supply[wide].exists);  // it may have cores again, and nobody else could
  world.broker.executor_said(e1, GrantChanged{.cores = {0}}, world.now);
  world.broker.executor_joined(copying_executor("there", ExecutorId("e2")), {}, world.now);
  world.broker.executor_said(e1, GrantChanged{}, world.now);
  pass(std::chrono::milliseconds(900));
  CHECK(world.supply[wide].exists);  // it may be for a moment
  pass(std::chrono::milliseconds(100));
  CHECK_FALSE(world.supply[wide].exists);
  CHECK(world.supply[wide].is_elsewhere);
  CHECK(world.supply[wide].missing ==
        "the host here has no cores for Orchid now, and others have; the data is brought to one of "
        "them");
  SUBCASE("they come back") {
    world.broker.executor_said(e1, GrantChanged{.cores = {0}}, world.now);
    world.perform();
    CHECK(world.supply[wide] == Supply{.exists = true});
  }
  SUBCASE("the others go, too") {
    world.broker.executor_said(ExecutorId("e2"), GrantChanged{}, world.now);
    pass(std::chrono::seconds(1));
    CHECK(world.supply[wide] == Supply{.exists = true});
  }
}

TEST_CASE("while hosts may still come back after a restart, none is said to be missing") {
  using std::chrono::seconds;
  World world({.epoch = 2,
               .boot_id = "here",
               .remote_dispatch = true,
               .hosts_return_by = MonotonicTime(seconds(2))});
  world.broker.add_dispatcher(wide, {}, {.alternatives = {{.cores = 4}}});
  world.join(e1, 2);
  CHECK_FALSE(world.supply[wide].exists);
  CHECK(world.supply[wide].missing.empty());
  world.now = MonotonicTime(seconds(1));
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.supply[wide].missing.empty());
  SUBCASE("one that is large enough comes") {
    world.join(ExecutorId("e2"), 4, "there", std::nullopt, "10.0.0.1:1");
    CHECK(world.supply[wide].exists);
  }
  SUBCASE("none comes") {
    world.now = MonotonicTime(seconds(2));
    world.broker.tick(world.now);
    world.perform();
    CHECK(world.supply[wide].missing == "it needs 4 cores; the largest host offers 2 cores");
  }
}

}  // namespace orchid::gateway
