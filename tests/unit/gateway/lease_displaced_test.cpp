// Leases whose cores are taken back, or go over to others.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "broker_world.h"
#include "one_job.h"

namespace orchid::gateway {
namespace {

Executor on_core(const std::string& id, std::uint32_t core, std::uint64_t job = 0) {
  Executor executor{.id = ExecutorId(id),
                    .owner = {},
                    .host = {.boot_id = "here", .hostname = "node", .memory = 64_GiB}};
  executor.host.cores = {core};
  executor.grant.job = job;
  return executor;
}

TEST_CASE("a holder that loses its worker with the cores gets one elsewhere") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 2);
  world.want(a, 2);
  world.broker.executor_joined(on_core("e2", 7), {}, world.now);
  world.perform();
  world.broker.executor_said(e1, GrantChanged{.cores = {1}}, world.now);
  world.perform();
  CHECK(world.ended.empty());                                // the executor ends it, and says so
  CHECK(world.broker.capacity().cores_leased("here") == 2);  // until then it is on its core
  const auto lost = std::ranges::find_if(world.given[a], [&](LeaseId lease) {
    return world.broker.leases().find(lease)->core_ids == CoreList{0};
  });
  REQUIRE(lost != world.given[a].end());
  world.broker.executor_said(e1, LeaseClosed{*lost, LeaseEnd::reclaimed}, world.now);
  world.perform();
  CHECK(world.ended.size() == 1);
  REQUIRE(world.given[a].size() == 3);
  CHECK(world.broker.leases().find(world.given[a].back())->executor == ExecutorId("e2"));
  CHECK(world.broker.leases().leases().size() == 2);
}

TEST_CASE("a GPU with a fault goes to nobody until it has none") {
  World world;
  Executor executor = on_core("e1", 0);
  executor.host.gpus = {{.index = 0, .model = "a100"}};
  world.broker.executor_joined(executor, {}, world.now);
  const auto usable = [&world] {
    return world.broker.capacity().placement().host(placement::HostId("here"))->gpus_granted.size();
  };
  CHECK(usable() == 1);
  std::vector<OfferedGpu> gpus{{.index = 0, .model = "a100", .fault = "Xid 79"}};
  world.broker.executor_said(e1, GrantChanged{.cores = {0}, .gpus = gpus}, world.now);
  CHECK(usable() == 0);
  world.broker.executor_said(e1, GrantChanged{.cores = {0}}, world.now);  // nothing new of GPUs
  CHECK(usable() == 0);
  gpus.front().fault.clear();
  world.broker.executor_said(e1, GrantChanged{.cores = {0}, .gpus = gpus}, world.now);
  CHECK(usable() == 1);
}

TEST_CASE("cores that go over to another executor are leased there when the first one has left") {
  OneJob slurm;
  World world({.epoch = 1, .boot_id = "here"}, {.knowledge = &slurm});
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 1);
  REQUIRE(world.given[a].size() == 1);
  world.broker.executor_joined(on_core("pilot", 0, OneJob::number), {}, world.now);
  world.perform();
  slurm.cores = {0};
  world.answering = false;
  world.broker.clusters_changed({.all = true}, world.now);
  world.perform();
  CHECK(world.ended == world.given[a]);
  CHECK(world.broker.leases().leases().size() == 1);  // none is asked for there
  CHECK(world.broker.capacity().cores_leased("here") == 1);
  world.answering = true;
  world.broker.executor_said(e1, LeaseClosed{world.given[a][0], LeaseEnd::released}, world.now);
  world.perform();
  REQUIRE(world.given[a].size() == 2);
  CHECK(world.broker.leases().find(world.given[a][1])->executor == ExecutorId("pilot"));
  CHECK(world.broker.capacity().cores_leased("here") == 1);
}

TEST_CASE("cores of an executor that is lost go over to another at once") {
  for (const bool lost_first : {false, true}) {
    CAPTURE(lost_first);
    OneJob slurm;
    World world({.epoch = 1, .boot_id = "here"}, {.knowledge = &slurm});
    world.broker.add_dispatcher(a, {});
    world.join(e1, 1);
    world.want(a, 1);
    world.broker.executor_joined(on_core("pilot", 0, OneJob::number), {}, world.now);
    world.answering = false;
    if (lost_first) world.broker.executor_lost(e1, world.now);
    slurm.cores = {0};
    world.broker.clusters_changed({.all = true}, world.now);
    world.perform();
    if (!lost_first) world.broker.executor_lost(e1, world.now);
    world.answering = true;
    world.perform();
    CHECK(world.broker.leases().leases().size() == 2);  // the other one may come back
    CHECK(world.broker.capacity().cores_leased("here") == 1);
    const auto there = std::ranges::find(world.broker.leases().leases(), ExecutorId("pilot"),
                                         [](const auto& entry) { return entry.second.executor; });
    REQUIRE(there != world.broker.leases().leases().end());
    CHECK(there->second.placed.has_value());
  }
}

TEST_CASE("an executor that ends without a word of a lease keeps no core") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 1);
  world.broker.executor_said(e1, GrantChanged{.cores = {}, .draining = true}, world.now);
  CHECK(world.broker.capacity().cores_leased("here") == 1);
  world.broker.executor_lost(e1, world.now);
  world.perform();
  CHECK(world.broker.hosts().find(e1) == nullptr);
  CHECK(world.broker.leases().leases().empty());
  CHECK(world.broker.capacity().cores_leased("here") == 0);
  world.join(ExecutorId("e2"), 1);
  CHECK(world.given[a].size() == 2);
}

}  // namespace
}  // namespace orchid::gateway
