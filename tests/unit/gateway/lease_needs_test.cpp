// Dispatchers whose workers have more than one core: which alternative they get, whose cores they
// are made of, and what is said where there are not enough.
#include <doctest/doctest.h>

#include <chrono>

#include "broker_world.h"
#include "leases/worker_broker.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;
using Shapes = std::vector<placement::WorkerShape>;

const HolderId wide(7);
const ExecutorId e2("e2");

/// Executors beyond this host are of use too.
struct RemoteWorld : World {
  RemoteWorld() : World({.epoch = 1, .boot_id = "here", .remote_dispatch = true}) {}
  void join_with_gpus(const ExecutorId& id, std::uint32_t cores, std::uint32_t gpus,
                      const std::string& boot_id) {
    Executor executor{
        .id = id, .owner = {}, .host = {.boot_id = boot_id, .hostname = boot_id, .memory = 64_GiB}};
    executor.lane_socket = "/run/" + id.value();
    executor.lane_address = "10.0.0.1:1";
    for (std::uint32_t core = 0; core < cores; ++core) executor.host.cores.push_back(core);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      executor.host.gpus.push_back({.index = gpu, .model = "a100"});
    broker.executor_joined(executor, {}, now);
    perform();
  }
  [[nodiscard]] const Lease& lease_of(HolderId id, std::size_t number = 0) const {
    return *broker.leases().find(given.at(id).at(number));
  }
};

TellSupply last_supply(const std::vector<BrokerAction>& actions, HolderId id) {
  TellSupply last;
  for (const BrokerAction& action : actions)
    if (const auto* supply = std::get_if<TellSupply>(&action); supply && supply->holder == id)
      last = *supply;
  return last;
}

}  // namespace

TEST_CASE("each worker has the best alternative that there is for it") {
  RemoteWorld world;
  world.broker.add_dispatcher(wide, {}, Shapes{{.cores = 1, .gpus = 1}, {.cores = 2}});
  world.join(e1, 4);
  world.join_with_gpus(e2, 2, 1, "there");
  world.want(wide, 3);
  REQUIRE(world.given[wide].size() == 3);
  CHECK(world.lease_of(wide, 0).executor == e2);  // a GPU elsewhere before cores here
  CHECK(world.lease_of(wide, 0).gpus.size() == 1);
  for (const std::size_t other : {1, 2}) {
    CHECK(world.lease_of(wide, other).executor == e1);
    CHECK(world.lease_of(wide, other).cores_per_worker == 2);
    CHECK(world.lease_of(wide, other).gpus.empty());
  }
}

TEST_CASE("what is wanted and has no place is told with all its alternatives") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true, .grows = true});
  broker.add_dispatcher(wide, {}, Shapes{{.cores = 1, .gpus = 1}, {.cores = 4}});
  broker.want_workers(wide, 2, MonotonicTime{});
  const auto demand = broker.demand();
  REQUIRE(demand.size() == 1);
  CHECK(demand[0].workers == 2);
  REQUIRE(demand[0].worker.alternatives.size() == 2);
  CHECK(demand[0].worker.alternatives[0].gpus == 1);
  CHECK(demand[0].worker.alternatives[1].cores == 4);
}

TEST_CASE("cores that come free one by one come together for a worker of several") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(wide, {}, Shapes{{.cores = 4}});
  world.join(e1, 4);
  world.want(a, 8);  // always more than there is
  REQUIRE(world.given[a].size() == 4);
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 4);
  for (int left = 4; left > 0; --left) {
    CHECK(world.given[wide].empty());
    world.give_back(a);
  }
  REQUIRE(world.given[wide].size() == 1);
  CHECK(world.broker.leases().find(world.given[wide][0])->cores_per_worker == 4);

  // The others have their turn, and are asked as everybody is.
  world.now += seconds(2);
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.asked_back[wide] >= 1);
  world.give_back(wide);
  CHECK_FALSE(world.given[a].empty());
}

TEST_CASE("a host is kept free for a worker of several only as long as that is wanted") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(wide, {}, Shapes{{.cores = 2}});
  world.join(e1, 2);
  world.want(a, 4);
  world.want(wide, 1);
  world.give_back(a);
  CHECK(world.given[a].size() == 1);
  CHECK(world.given[wide].empty());
  world.want(wide, 0);  // its call was cancelled
  CHECK(world.given[a].size() == 2);
  world.want(wide, 1);
  world.give_back(a);
  CHECK(world.given[a].size() == 1);
  world.now += seconds(31);  // the call that runs is a long one
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("nobody gives so many cores that it is poorer than who gets them") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(wide, {}, Shapes{{.cores = 2}});
  world.join(e1, 6);
  world.want(wide, 1);
  world.want(a, 8);
  REQUIRE(world.given[a].size() == 4);
  world.want(wide, 2);
  CHECK(world.asked_back[a] == 0);  // four each would be two for the other
  CHECK(world.given[wide].size() == 1);
}

TEST_CASE("a place of several cores that nobody wants is given for one core") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(wide, {}, Shapes{{.cores = 2}});
  world.join(e1, 2);
  world.want(wide, 1);
  world.want(wide, 0);  // idle, and kept for a while
  world.want(a, 2);
  CHECK(world.asked_back[wide] == 1);  // not once for each core
  world.give_back(wide);
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("where GPUs are missing those are asked that have some") {
  RemoteWorld world;
  world.join_with_gpus(e1, 4, 1, "here");
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {}, Shapes{{.cores = 1, .gpus = 1}});
  world.want(b, 1);
  world.want(b, 0);
  world.want(a, 3);
  world.want(a, 0);  // more that nobody wants
  world.broker.add_dispatcher(wide, {}, Shapes{{.cores = 1, .gpus = 1}});
  world.want(wide, 1);
  CHECK(world.asked_back[a] == 0);
  CHECK(world.asked_back[b] == 1);
  world.give_back(b);
  REQUIRE(world.given[wide].size() == 1);
  CHECK(world.lease_of(wide).gpus.size() == 1);
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
  broker.add_dispatcher(wide, {}, Shapes{{.cores = 1, .gpus = 1}, {.cores = 4}});
  broker.add_dispatcher(b, {}, Shapes{{.cores = 1, .memory = 16_GiB}});
  TellSupply told = last_supply(broker.take_actions(), wide);
  CHECK_FALSE(told.exists);
  CHECK(told.missing.empty());  // nothing is there
  join("e1", 1);
  join("e2", 2);
  const auto actions = broker.take_actions();
  told = last_supply(actions, wide);
  CHECK_FALSE(told.exists);
  CHECK(told.missing == "needs 1 GPU or 4 cores; the largest host offers 2 cores and none a GPU");
  CHECK(last_supply(actions, b).missing ==
        "needs 1 core, 16 GiB; the largest host offers 2 cores, with 8 GiB of memory");
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

}  // namespace orchid::gateway
