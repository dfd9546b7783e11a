// Workers that nobody wants yet: they are taken ahead of calls, and stand in nobody's way.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "broker_world.h"
#include "leases/worker_broker.h"
#include "worker_requests.h"

namespace orchid::gateway {
namespace {

TEST_CASE("a spare worker is one of a free place, and one at a time") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 3);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 1);
  world.want(a, 1);  // it is wanted now
  CHECK(world.given[a].size() == 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("a spare worker is asked back as soon as somebody wants its place") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 2);
  world.want(a, 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].size() == 2);
  CHECK(world.asked_back[a] == 0);
  world.want(b, 1);
  CHECK(world.asked_back[a] == 1);
}

TEST_CASE("there is no spare worker where somebody waits, or no place is free; nor does it count") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 1);
  world.want(b, 2);  // one more than there is
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].empty());
  world.want(b, 1);
  const auto before = world.broker.demand().size();
  world.broker.spare_worker(a, world.now);
  world.perform();
  CHECK(world.given[a].empty());
  CHECK(world.refused[a].empty());
  CHECK(world.asked_back[b] == 0);
  CHECK(world.broker.demand().size() == before);
}

TEST_CASE(
    "a tenant has four spare workers at most, whatever they are for, and others have theirs") {
  World world;
  world.join(e1, 16);
  const auto spare = [&](std::uint64_t number, uid_t tenant) {
    const HolderId id(number);
    world.broker.add_dispatcher(id, {tenant, std::to_string(tenant)});
    world.broker.spare_worker(id, world.now);
    world.perform();
    return world.given[id].size();
  };
  for (std::uint64_t number = 1; number <= 4; ++number) CHECK(spare(number, 7) == 1);
  CHECK(spare(5, 7) == 0);
  CHECK(spare(6, 8) == 1);
  // One that is used, or goes back, makes room for another one.
  world.want(HolderId(1), 1);
  CHECK(spare(7, 7) == 1);
  CHECK(spare(8, 7) == 0);
  world.give_back(HolderId(2));
  CHECK(spare(9, 7) == 1);
  CHECK(spare(10, 7) == 0);
}

/// With three cores, and of a name and cluster of its own.
void join_cluster(World& world, const std::string& name) {
  Executor executor{.id = ExecutorId(name), .owner = {}, .host = {}};
  executor.host.boot_id = name;
  executor.host.hostname = name;
  executor.host.memory = 64_GiB;
  executor.host.cores = {0, 1, 2};
  executor.lane_address = name + ":1";
  executor.grant.cluster = name;
  world.broker.executor_joined(executor, {}, world.now);
  world.perform();
}

TEST_CASE("a spare worker is not where somebody waits, but may be where they could have none") {
  World world({.epoch = 1, .boot_id = "here", .remote_dispatch = true});
  const HolderId c(3);
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {}, {.alternatives = {{.cores = 2}}, .cluster = "south"});
  world.broker.add_dispatcher(c, {}, {.cluster = "south"});
  join_cluster(world, "north");
  join_cluster(world, "south");
  world.want(b, 2);  // there is room for one, and a core is free beside it
  CHECK(world.given[b].size() == 1);
  const auto spare = [&](HolderId id) {
    world.broker.spare_worker(id, world.now);
    world.perform();
    return world.given[id].size();
  };
  CHECK(spare(a) == 1);  // in the north
  CHECK(spare(c) == 0);
  world.want(b, 1);
  CHECK(spare(c) == 1);
}

TEST_CASE("a client's lease is given a spare worker's place") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.broker.spare_worker(a, world.now);
  world.perform();
  REQUIRE(world.given[a].size() == 1);
  world.broker.add_client(b, {.worker = on_host("here")}, world.broker.next_lease_id(),
                          world.now + std::chrono::minutes(1));
  world.want(b, 1);
  CHECK(world.asked_back[a] == 1);
  world.give_back(a);
  CHECK(world.given[b].size() == 1);
}

}  // namespace
}  // namespace orchid::gateway
