#include "leases/worker_broker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "broker_world.h"
#include "worker_requests.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a dispatcher gets as many workers as it wants while cores are free") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.want(a, 3);
  CHECK(world.given[a].empty());
  world.join(e1, 2);
  CHECK(world.given[a].size() == 2);
  world.join(ExecutorId("e2"), 2, "elsewhere");  // no local lane reaches it
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("each lease has cores of its own, by number") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 3);
  world.join(ExecutorId("e2"), 3);  // offers the same cores
  world.want(a, 9);
  REQUIRE(world.given[a].size() == 3);
  std::set<std::uint32_t> cores;
  for (const auto& [id, lease] : world.broker.leases().leases())
    for (const std::uint32_t core : lease.open_message().core_ids) CHECK(cores.insert(core).second);
  CHECK(cores.size() == 3);
}

TEST_CASE("nothing new comes to an executor that drains, and all is lost at its end") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 2);
  world.want(a, 1);
  const GrantChanged drain{.cores = {0, 1}, .ends_in = seconds(5), .draining = true};
  world.broker.executor_said(e1, drain, world.now);
  world.want(a, 2);
  CHECK(world.given[a].size() == 1);
  CHECK(world.ended.empty());
  const auto why = world.broker.capacity().placement().explain(*world.broker.decision_for(a));
  REQUIRE(why.has_value());
  CHECK(why->refusal->message.find("1 ends soon") != std::string::npos);
  world.now += seconds(5);
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.ended.size() == 1);
  CHECK(world.broker.capacity().cores_leased("here") == 0);
}

TEST_CASE("an executor that has given back all and gone is no host that does not answer") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 2);
  world.want(a, 1);
  world.broker.executor_said(e1, GrantChanged{.cores = {}, .draining = true}, world.now);
  world.broker.executor_said(e1, LeaseClosed{world.given[a].at(0), LeaseEnd::reclaimed}, world.now);
  world.broker.executor_lost(e1, world.now);
  world.perform();
  CHECK(world.ended == world.given[a]);
  const auto why = world.broker.capacity().placement().explain(*world.broker.decision_for(a));
  REQUIRE(why.has_value());
  CHECK_MESSAGE(why->refusal->message.find("answer") == std::string::npos, why->refusal->message);
  CHECK(world.broker.hosts().find(e1) == nullptr);
}

TEST_CASE("a dispatcher hears what is missing where hosts are there and none of them will do") {
  World world({.epoch = 1, .boot_id = "here", .remote_dispatch = true});
  const HolderId any(1);
  const HolderId arm(2);
  const HolderId dpu(3);
  const HolderId gpu(4);
  const HolderId dpu_of_x86(5);
  world.broker.add_dispatcher(any, {});
  world.broker.add_dispatcher(arm, {}, {.images = {"aarch64"}});
  world.broker.add_dispatcher(dpu, {}, {.kind = placement::HostKind::dpu});
  world.broker.add_dispatcher(gpu, {}, {.alternatives = {{.gpus = 1}}, .images = {"x86_64"}});
  world.broker.add_dispatcher(dpu_of_x86, {},
                              {.images = {"x86_64"}, .kind = placement::HostKind::dpu});
  world.perform();
  for (const auto& [holder, supply] : world.supply) {  // nobody is there yet
    CHECK_FALSE(supply.exists);
    CHECK(supply.missing.empty());
  }
  world.join(e1, 2, "here", std::nullopt, "", {.architecture = "x86_64"});
  CHECK(world.supply[any].exists);
  CHECK_FALSE(world.supply[arm].exists);
  CHECK(world.supply[arm].missing == "no image for x86-64; the module has aarch64");
  CHECK(world.supply[dpu].missing == "no host of the kind dpu is connected, only cpu");
  CHECK(world.supply[gpu].missing == "it needs a GPU, and no connected host offers one");

  world.join(ExecutorId("e2"), 2, "card", std::nullopt, "10.0.0.2:1",
             {.architecture = "aarch64", .kind = "dpu"});
  CHECK(world.supply[arm].exists);
  CHECK(world.supply[arm].missing.empty());
  CHECK(world.supply[dpu].exists);
  CHECK(world.supply[dpu_of_x86].missing == "no image for aarch64; the module has x86-64");
  world.want(arm, 1);
  REQUIRE(world.given[arm].size() == 1);
  CHECK(world.broker.leases().find(world.given[arm][0])->executor == ExecutorId("e2"));
  world.want(gpu, 1);
  CHECK(world.given[gpu].empty());

  world.join(ExecutorId("e3"), 2, "big", std::nullopt, "10.0.0.3:1",
             {.architecture = "x86_64", .kind = "gpu", .gpus = {{.index = 0, .model = "a100"}}});
  CHECK(world.supply[gpu].exists);
  CHECK(world.given[gpu].size() == 1);
}

TEST_CASE("a GPU that is being started is waited for, and one that cannot be used is named") {
  World world;
  const HolderId gpu(4);
  world.broker.add_dispatcher(gpu, {}, {.alternatives = {{.gpus = 1}}});
  const auto gpu_is = [](const std::string& fault) {
    return std::vector<OfferedGpu>{{.index = 0, .model = "a100", .fault = fault}};
  };
  const auto say = [&](const std::string& fault) {
    world.broker.executor_said(e1, GrantChanged{.cores = {0, 1}, .gpus = gpu_is(fault)}, world.now);
    world.perform();
  };
  world.join(e1, 2, "here", std::nullopt, "", {.gpus = gpu_is("it is being started")});
  CHECK(world.supply[gpu].exists);
  say("no driver");
  CHECK_FALSE(world.supply[gpu].exists);
  CHECK(world.supply[gpu].missing ==
        "it needs a GPU, and no connected host offers one that can be used: GPU 0 of node: no "
        "driver");
  say("");
  CHECK(world.supply[gpu].exists);
  world.want(gpu, 1);
  CHECK(world.given[gpu].size() == 1);
  say("Xid 79");
  CHECK(world.supply[gpu].exists);  // it is being started again
  world.now += seconds(31);
  world.broker.tick(world.now);
  world.perform();
  CHECK_FALSE(world.supply[gpu].exists);
  CHECK(world.supply[gpu].missing.find("GPU 0 of node: Xid 79") != std::string::npos);
}

TEST_CASE("a GPU that cannot be used does not end the wait for another one of its executor") {
  World world;
  const HolderId one(4);
  const HolderId both(5);
  world.broker.add_dispatcher(one, {}, {.alternatives = {{.gpus = 1}}});
  world.broker.add_dispatcher(both, {}, {.alternatives = {{.gpus = 2}}});
  const auto gpus = [](const std::string& first, const std::string& second) {
    return std::vector<OfferedGpu>{{.index = 0, .model = "a100", .fault = first},
                                   {.index = 1, .model = "a100", .fault = second}};
  };
  const auto say = [&](const std::string& first, const std::string& second) {
    world.broker.executor_said(e1, GrantChanged{.cores = {0, 1}, .gpus = gpus(first, second)},
                               world.now);
    world.perform();
  };
  world.join(e1, 2, "here", std::nullopt, "", {.gpus = gpus("being started", "being started")});
  CHECK(world.supply[both].exists);
  say("Xid 79", "being started");
  CHECK(world.supply[one].exists);
  CHECK_FALSE(world.supply[both].exists);
  say("Xid 79", "");
  CHECK(world.supply[one].exists);
  say("Xid 79", "its device process is being started");  // again
  CHECK(world.supply[one].exists);
  world.now += seconds(31);
  world.broker.tick(world.now);
  world.perform();
  CHECK_FALSE(world.supply[one].exists);
}

TEST_CASE("where pilots come by demand, wishes wait for them and are told by what they need") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true, .grows = true});
  broker.add_dispatcher(a, {});
  const auto told = broker.take_actions();
  REQUIRE(told.size() == 1);
  CHECK(std::get<TellSupply>(told[0]).supply.exists);
  CHECK(broker.has_supply());
  broker.want_workers(a, 3, MonotonicTime{});
  broker.add_dispatcher(b, {.uid = 7, .name = "eve"});
  broker.want_workers(b, 1, MonotonicTime{});
  const placement::WorkerRequest wide{.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}},
                                      .avoid_host = {"n3"},
                                      .kind = placement::HostKind::gpu,
                                      .features = {"fast"},
                                      .lifetime = seconds(60)};
  ClientLeaseRequest of_client{.worker = wide};
  of_client.worker.client_host = placement::HostId("here");
  broker.add_client(HolderId(3), of_client, {}, MonotonicTime{} + seconds(60));
  broker.want_workers(HolderId(3), 2, MonotonicTime{});
  const auto demand = broker.demand();
  REQUIRE(demand.size() == 2);
  CHECK(demand[0].workers == 4);  // of both dispatchers
  CHECK(demand[0].worker.alternatives.front().cores == 1);
  CHECK(demand[1].workers == 2);
  CHECK(demand[1].worker == wide);
  for (const HolderId id : {a, b, HolderId(3)}) broker.remove_holder(id, MonotonicTime{});
  CHECK(broker.demand().empty());
}

TEST_CASE("calls that are kept back before any dispatcher has them are demand, as quotas allow") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true},
                      {.cores_per_user = 2});
  const placement::WorkerRequest there{.alternatives = {{.cores = 2}}, .cluster = "moss"};
  const placement::WorkerRequest wide{.alternatives = {{.cores = 3}}};
  broker.ask_for_kept_back([&] {
    return std::map<uid_t, std::vector<placement::WorkerDemand>>{
        {1, {{.workers = 2, .worker = there}}},
        {2, {{.workers = 1, .worker = there}, {.workers = 1, .worker = wide}}}};
  });
  broker.add_dispatcher(a, {.uid = 2, .name = "eve"});  // whose quota is known since then
  CHECK_FALSE(broker.has_supply(there));
  const auto demand = broker.demand();
  REQUIRE(demand.size() == 1);
  CHECK(demand[0].workers == 3);
  CHECK(demand[0].worker.cluster == "moss");
  CHECK(demand[0].worker.alternatives.front().memory == broker.worker_memory());
}

TEST_CASE("the workers of one lease are spread over hosts, or packed, as the policy says") {
  for (const char* policy : {"spread", "pack"}) {
    CAPTURE(policy);
    World world({.epoch = 1, .boot_id = "here", .remote_dispatch = true},
                {.policy = placement::make_policy(policy).value()});
    world.join(e1, 8, "one", std::nullopt, "10.0.0.1:1");
    world.join(ExecutorId("e2"), 4, "two", std::nullopt, "10.0.0.2:1");
    world.broker.add_client(a, {.worker = {.client_host = placement::HostId("elsewhere")}}, {},
                            world.now + seconds(60));
    world.want(a, 4);
    std::map<std::string, unsigned> workers;
    for (const auto& [id, lease] : world.broker.leases().leases())
      ++workers[lease.executor.value()];
    if (std::string(policy) == "spread")
      CHECK(workers == std::map<std::string, unsigned>{{"e1", 2}, {"e2", 2}});
    else
      CHECK(workers == std::map<std::string, unsigned>{{"e2", 4}});
    // Of what is given back one more place is free there.
    world.give_back(a);
    world.want(a, 4);
    CHECK(world.broker.leases().leases().size() == 4);
  }
}

TEST_CASE("a bound on a host's power counts what was leased since the host told what it draws") {
  World world({.epoch = 1, .boot_id = "here"}, {.watts_per_host = 100, .watts_per_core = 10});
  world.broker.add_dispatcher(a, {});
  world.join(e1, 16);
  const auto tells = [&](std::uint64_t watts) {
    world.broker.executor_said(e1, CapacityReport{.milliwatts = watts * 1000}, world.now);
    world.perform();
  };
  tells(75);
  world.want(a, 16);
  CHECK(world.given[a].size() == 2);
  tells(80);  // with these two
  CHECK(world.given[a].size() == 4);
}

TEST_CASE("nobody grows for a tenant that has all that he may have, or for an unknown host") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true, .grows = true},
                      {.cores_per_user = 1});
  broker.add_client(a, {.worker = {.alternatives = {{.cores = 2}}}}, {},
                    MonotonicTime{} + seconds(60));
  broker.want_workers(a, 1, MonotonicTime{});
  CHECK(broker.demand().empty());
  broker.add_client(b, {.worker = on_host("elsewhere")}, {}, MonotonicTime{} + seconds(60));
  broker.want_workers(b, 1, MonotonicTime{});
  CHECK(broker.demand().empty());
}

TEST_CASE("a refused holder is not placed again before something changes") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 2);
  const auto first = world.broker.decision_for(a);
  for (int i = 0; i < 10; ++i) world.want(a, 2);
  CHECK(world.broker.decision_for(a) == first);
  world.join(ExecutorId("e2"), 2);
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("a lease that is open is explained after any number of refusals") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 1);
  const LeaseId lasting = world.given[a].at(0);
  for (int i = 0; i < 10'000; ++i)
    (void)world.broker.note_refusal(LeaseId{2, static_cast<std::uint64_t>(i)},
                                    {.worker = on_host("here", {{.cores = 8}})}, world.now);
  const auto why = world.broker.explain(0, lasting);
  REQUIRE(why.has_value());
  CHECK(why->front().places.size() == 1);
  CHECK_FALSE(world.broker.explain(0, LeaseId{2, 0}).has_value());
  CHECK(world.broker.explain(0, LeaseId{2, 9'999}).has_value());
}

TEST_CASE("a dispatcher that waits in vain is told once by what to ask for the newest reason") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.want(a, 1);
  REQUIRE(world.refused[a].size() == 1);
  const LeaseId first = world.refused[a].front();
  const auto reasons = [&](LeaseId lease) {
    const auto why = world.broker.explain(0, lease);
    REQUIRE(why.has_value());
    REQUIRE(why->size() == 1);  // the newest alone
    REQUIRE(why->front().refusal.has_value());
    return why->front().refusal->message;
  };
  const std::string without_hosts = reasons(first);
  world.join(e1, 1, "here", 4711);
  CHECK(world.refused[a].size() == 1);
  CHECK(reasons(first) != without_hosts);
  CHECK(world.broker.explain(4711, first).error().code == ErrorCode::not_found);  // whose it is not
  // Served, and then in need again: that is another story, and the old one stays as it was.
  world.join(ExecutorId("e2"), 1);
  CHECK(world.given[a].size() == 1);
  const std::string before = reasons(first);
  world.want(a, 2);
  REQUIRE(world.refused[a].size() == 2);
  CHECK(world.refused[a].back() != first);
  CHECK(reasons(first) == before);
  // So is that of a call that has given up, and of one that waits later.
  const LeaseId second = world.refused[a].back();
  const std::string then = reasons(second);
  world.want(a, 1);
  world.join(ExecutorId("e3"), 1, "here", 4711);
  world.want(a, 2);
  REQUIRE(world.refused[a].size() == 3);
  CHECK(reasons(second) == then);
  CHECK(reasons(world.refused[a].back()) != then);
}

TEST_CASE("who was refused before a worker came is told anew when that one has gone") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 2);  // a place for one, and none for the other; the grant comes after both
  CHECK(world.given[a].size() == 1);
  CHECK(world.refused[a].size() == 1);
  world.broker.executor_said(e1, GrantChanged{.cores = {}}, world.now);
  world.broker.executor_said(e1, LeaseClosed{world.given[a].front(), LeaseEnd::reclaimed},
                             world.now);
  world.perform();
  CHECK(world.refused[a].size() == 2);
}

TEST_CASE(
    "of decisions about leases those are known that the placement remembers, in their order") {
  placement::Placement placement(placement::make_pack_policy(), {.remembered_decisions = 3});
  const auto refused = [&] { return placement.open({}, MonotonicTime{}).id; };
  DecisionIndex index;
  const LeaseId first{1, 1};
  const LeaseId second{1, 2};
  const placement::DecisionId one = refused();
  const placement::DecisionId two = refused();
  index.note(first, one, placement);
  index.note(first, two, placement);
  CHECK(index.find(first) == std::vector{one, two});
  index.forget(first);
  CHECK(index.find(first).empty());
  index.note(second, two, placement);
  for (std::uint64_t i = 0; i < 100'000; ++i) index.note(LeaseId{2, i}, refused(), placement);
  CHECK(index.find(second).empty());
  CHECK(index.find(LeaseId{2, 99'999}).size() == 1);
  CHECK(index.size() < 10'000);
}

TEST_CASE("of a call that waits in vain what its own host and all others lack is remembered") {
  WorkerBroker broker({.epoch = 1, .boot_id = "here", .remote_dispatch = true});
  broker.add_dispatcher(a, {});
  broker.want_workers(a, 1, MonotonicTime{});
  std::optional<LeaseId> lease;
  for (const BrokerAction& action : broker.take_actions())
    if (const auto* told = std::get_if<TellRefused>(&action)) lease = told->lease;
  REQUIRE(lease.has_value());
  CHECK(broker.explain(0, *lease)->size() == 2);
}

TEST_CASE("free cores are shared out evenly among dispatchers that want more") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.want(a, 8);
  world.want(b, 8);
  world.join(e1, 4);
  CHECK(world.given[a].size() == 2);
  CHECK(world.given[b].size() == 2);
}

TEST_CASE("a worker that its holder does not want goes to one that starves") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 2);
  world.want(a, 2);
  world.want(a, 1);
  world.want(b, 1);
  CHECK(world.asked_back[a] == 1);
  world.give_back(a);
  CHECK(world.given[b].size() == 1);
  world.want(b, 2);  // now a fair share each: nobody gives
  CHECK(world.asked_back[a] == 1);
}

TEST_CASE("what is its owner's alone is not asked back for another tenant") {
  World world;
  world.broker.add_dispatcher(a, {.uid = 1000, .name = "alice"});
  world.broker.add_dispatcher(b, {.uid = 1001, .name = "bob"});
  world.join(e1, 2, "here", 1000);
  world.want(a, 2);
  CHECK(world.given[a].size() == 2);
  world.want(b, 1);
  world.now += seconds(2);
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.asked_back[a] == 0);
  world.join(ExecutorId("e2"), 3);  // one more core
  CHECK(world.given[b].size() == 1);
}

TEST_CASE("the rich give until the shares are even") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 6);
  world.want(a, 6);
  world.want(b, 6);
  while (world.asked_back[a] > 0) {
    --world.asked_back[a];
    world.give_back(a);
  }
  CHECK(world.given[a].size() == 3);
  CHECK(world.given[b].size() == 3);
  CHECK(world.asked_back[b] == 0);
}

TEST_CASE("with fewer cores than dispatchers each has its turn") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.broker.add_dispatcher(b, {});
  world.join(e1, 1);
  world.want(a, 1);
  world.want(b, 1);
  CHECK(world.asked_back[a] == 1);
  world.give_back(a);
  CHECK(world.given[b].size() == 1);
  CHECK(world.asked_back[b] == 1);
  world.give_back(b);
  CHECK(world.given[a].size() == 1);
}

TEST_CASE("an executor that does not answer an open_lease is passed over") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.answering = false;
  world.join(e1, 1);
  world.want(a, 1);
  CHECK(world.given[a].empty());
  world.answering = true;
  world.join(ExecutorId("e2"), 0);
  world.now += seconds(3);
  world.broker.tick(world.now);
  world.perform();  // the close is answered, and the core is asked for again
  CHECK(world.given[a].size() == 1);
}

TEST_CASE("an executor that refuses is asked again after a pause") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.answering = false;
  world.join(e1, 1);
  world.want(a, 1);
  const LeaseId first = world.broker.leases().leases().begin()->first;
  world.broker.executor_said(e1, LeaseRefused{first, ErrorCode::no_capacity, "none ready"},
                             world.now);
  CHECK(world.broker.leases().leases().empty());
  world.answering = true;
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.given[a].empty());
  world.now += milliseconds(200);
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.given[a].size() == 1);
}

TEST_CASE("a lost executor keeps its leases for a while, then they end") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 1);
  world.broker.executor_lost(e1, world.now);
  world.perform();
  CHECK(world.ended.empty());
  world.broker.executor_resumed(e1, world.now);
  world.broker.executor_lost(e1, world.now);
  world.now += seconds(31);
  world.broker.tick(world.now);
  world.perform();
  CHECK(world.ended == world.given[a]);
}

TEST_CASE(
    "leases of a killed executor end when its successor comes, which gives new ones at once") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 1);
  world.broker.executor_lost(e1, world.now);
  world.join(ExecutorId("e2"), 1);
  CHECK(world.ended.size() == 1);
  CHECK(world.given[a].size() == 2);
}

TEST_CASE("a lease that lapses is replaced while it is wanted") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 1);
  world.want(a, 1);
  world.broker.executor_said(e1, LeaseClosed{world.given[a][0], LeaseEnd::lapsed}, world.now);
  world.perform();
  CHECK(world.ended.size() == 1);
  CHECK(world.given[a].size() == 2);
}

TEST_CASE(
    "an executor whose stream began afresh hears of each lease again, and nothing is given twice") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 2);
  world.want(a, 1);
  world.answering = false;
  world.broker.given_back(a, world.given[a][0], world.now);
  world.want(a, 1);
  static_cast<void>(world.broker.take_actions());
  world.answering = true;
  world.join(e1, 2);
  CHECK(world.given[a].size() == 2);
  CHECK(world.broker.leases().leases().size() == 1);
}

TEST_CASE("a dispatcher that goes gives everything back") {
  World world;
  world.broker.add_dispatcher(a, {});
  world.join(e1, 2);
  world.want(a, 2);
  world.broker.remove_holder(a, world.now);
  world.perform();
  CHECK(world.broker.leases().leases().empty());
}

}  // namespace
}  // namespace orchid::gateway
