#include "leases/client_leases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "clients_world.h"
#include "protocol/lane_protocol.h"

namespace orchid::gateway {
namespace {

TEST_CASE("a client gets its workers, with what it needs to claim them") {
  ClientsWorld world;
  world.join("e1", 4);
  const auto lease = world.opened({.workers = 3, .wait = WaitMode::hot, .duration = seconds(30)});
  CHECK(lease.open);
  CHECK(lease.expires_in == seconds(30));
  REQUIRE(lease.workers.size() == 3);
  CHECK(lease.workers[0].lane_socket == "/run/e1");
  CHECK(lease.workers[0].secret.size() == 64);
  CHECK(lease.workers[0].secret != lease.workers[1].secret);
  const auto* open = std::get_if<OpenLease>(&world.sent[0]);
  REQUIRE(open != nullptr);
  REQUIRE(open->client.has_value());
  CHECK(open->client->client_lease == lease.id);
  CHECK(open->client->wait == WaitMode::hot);
  CHECK(open->client->expires_in == seconds(30));
  CHECK(world.cores_taken() == 3);
}

TEST_CASE("a lease for code that no connected host can run is refused at once, with both sides") {
  ClientsWorld world;
  world.join("e1", 4);
  world.open({.worker = {.images = {"aarch64"}}, .within = seconds(60)});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].error().code == ErrorCode::no_capacity);
  CHECK(world.answers[0].error().message.starts_with(
      "no image for x86-64; the module has aarch64: 'orchid explain l-2-"));
  CHECK(world.opened({.worker = {.images = {"aarch64", "x86_64"}}}).workers.size() == 1);
}

TEST_CASE("a lease in a cluster that nobody knows is refused") {
  ClientsWorld world;
  world.join("e1", 4);
  world.open({.worker = {.cluster = "moss"}, .within = seconds(60)});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].error().code == ErrorCode::bad_request);
  CHECK(world.answers[0].error().message.find("no cluster 'moss'") != std::string::npos);
}

TEST_CASE("what can never be met is refused at once, and says how much there is") {
  ClientsWorld world;
  world.open({.workers = 1});
  CHECK(world.answers.at(0).error().code == ErrorCode::no_capacity);
  CHECK(world.answers[0].error().message.find("no executor") != std::string::npos);
  world.join("e1", 4);
  world.open({.worker = {.alternatives = {{.cores = 3}}}, .workers = 2, .at_least = 2});
  CHECK(world.answers.at(1).error().message.find("room for 1 such workers") != std::string::npos);
  world.open({.worker = {.host = "other"}, .workers = 1});
  CHECK(world.answers.at(2).error().code == ErrorCode::no_capacity);
  world.open({.worker = {.avoid_host = {"node-here"}}, .workers = 1});
  CHECK(world.answers.at(3).error().message.find("1 avoided by the request") != std::string::npos);
  world.open({.workers = 2, .at_least = 3});
  CHECK(world.answers.at(4).error().code == ErrorCode::bad_request);
  world.open({.workers = 1, .duration = milliseconds(10)});
  CHECK(world.answers.at(5).error().code == ErrorCode::bad_request);
  CHECK(world.cores_taken() == 0);
}

TEST_CASE("a client waits for cores, and gives up after its time with nothing held") {
  ClientsWorld world;
  world.join("e1", 2);
  const auto first = world.opened({.workers = 1});
  world.answers.clear();
  world.open({.workers = 2, .at_least = 2, .within = seconds(5)});
  CHECK(world.answers.empty());
  SUBCASE("cores come free") {
    REQUIRE(world.clients.close(ada, first.id, world.now).has_value());
    world.perform();
    REQUIRE(world.answers.size() == 1);
    CHECK(world.answers[0]->workers.size() == 2);
  }
  SUBCASE("none does") {
    world.pass(seconds(6));
    REQUIRE(world.answers.size() == 1);
    CHECK(world.answers[0].error().code == ErrorCode::no_capacity);
    CHECK(world.cores_taken() == 1);
  }
}

TEST_CASE("who takes what there is waits for nobody") {
  ClientsWorld world;
  world.join("e1", 2);
  const auto lease = world.opened({.workers = 5, .at_least = 1});
  CHECK(lease.workers.size() == 2);
  CHECK(lease.workers_wanted == 5);
  world.join("e2", 4, {}, "far");  // not for this client, which asked for its own host
  CHECK(world.clients.find(ada, lease.id, world.now)->workers.size() == 2);
}

TEST_CASE("a lease may span hosts that have an address") {
  ClientsWorld world;
  world.join("e1", 2);
  world.join("e2", 4, {}, "far");
  world.elsewhere_too = true;
  const auto lease = world.opened({.workers = 6, .at_least = 6});
  unsigned far = 0;
  for (const WorkerGrant& grant : lease.workers)
    if (grant.boot_id == "far") {
      ++far;
      CHECK(grant.lane_address == "far:1");
    }
  CHECK(far == 4);
}

TEST_CASE("a user's quota counts the workers of all his leases") {
  ClientsWorld world;
  world.join("e1", 8);
  ClientLeases limited(world.broker, 3);
  std::vector<Result<ClientLeaseView>> answers;
  const auto open = [&](std::uint32_t workers) {
    limited.open({.tenant = {ada, "ada"}, .worker = on_host("here"), .workers = workers}, world.now,
                 [&](Result<ClientLeaseView> view) { answers.push_back(std::move(view)); });
  };
  open(2);
  CHECK(answers.empty());  // its workers are on their way
  open(2);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].error().code == ErrorCode::quota);
  CHECK(answers[0].error().message.find("ask for at most 1") != std::string::npos);
}

TEST_CASE("a renewal goes to every executor; nobody else can renew, see or close the lease") {
  ClientsWorld world;
  world.join("e1", 2);
  const auto lease = world.opened({.workers = 2, .duration = seconds(30)});
  world.pass(seconds(20));
  world.sent.clear();
  const auto renewed = world.clients.renew(ada, lease.id, {.duration = seconds(60)}, world.now);
  REQUIRE(renewed.has_value());
  CHECK(renewed->expires_in == seconds(60));
  world.perform();
  REQUIRE(world.sent.size() == 2);
  CHECK(std::get<RenewLease>(world.sent[0]).expires_in == seconds(60));
  constexpr uid_t eve = 1001;
  CHECK(world.clients.renew(eve, lease.id, {.duration = seconds(60)}, world.now).error().code ==
        ErrorCode::not_found);
  CHECK(world.clients.find(eve, lease.id, world.now).error().code == ErrorCode::not_found);
  CHECK(world.clients.close(eve, lease.id, world.now).error().code == ErrorCode::not_found);
  CHECK(world.clients.list(eve, world.now).empty());
  CHECK(world.clients.list(ada, world.now).size() == 1);
}

TEST_CASE("a lease whose client went away or never came ends with its last worker") {
  ClientsWorld world;
  world.join("e1", 4);
  const auto lease = world.opened({.workers = 2});
  world.say("e1", LeaseClosed{lease.workers[0].lease, LeaseEnd::released});
  CHECK(world.clients.find(ada, lease.id, world.now)->workers.size() == 1);
  CHECK(world.cores_taken() == 1);  // no other in its place
  world.say("e1", LeaseClosed{lease.workers[1].lease, LeaseEnd::lapsed});
  CHECK_FALSE(world.clients.find(ada, lease.id, world.now).has_value());
  CHECK(world.cores_taken() == 0);
}

TEST_CASE("a worker that was lost with its executor is replaced by another") {
  ClientsWorld world;
  world.join("e1", 1);
  const auto lease = world.opened({.workers = 1});
  world.broker.executor_lost(ExecutorId("e1"), world.now);
  world.perform();
  // The client may still speak to it, so nothing happens for now ...
  world.pass(seconds(40));
  CHECK(world.clients.find(ada, lease.id, world.now)->workers.size() == 1);
  // ... until that process is known to be gone.
  Executor again{.id = ExecutorId("e2"), .owner = {}, .host = {.boot_id = "here"}};
  again.host.cores = {0};
  again.host.memory = 1_GiB;
  again.lane_socket = "/run/e1";
  world.broker.executor_joined(again, {}, world.now);
  world.perform();
  const auto view = world.clients.find(ada, lease.id, world.now);
  REQUIRE(view->workers.size() == 1);
  CHECK(view->workers[0].executor == ExecutorId("e2"));
}

TEST_CASE("what could be leased at most counts each core of a host once") {
  ClientsWorld world;
  world.join("e1", 2);
  world.join("e2", 3);  // 0, 1 and another
  CHECK(world.broker.largest(on_host("here")) == 3);
  Executor apart{.id = ExecutorId("e3"), .owner = {}, .host = {.boot_id = "here"}};
  apart.host.cores = {7};
  apart.lane_socket = "/run/e3";
  world.broker.executor_joined(apart, {}, world.now);
  CHECK(world.broker.largest(on_host("here")) == 4);
  CHECK(world.broker.largest(on_host("here", {{.cores = 2}})) == 1);
}

TEST_CASE("a core that two executors offer counts where one of them has a GPU beside it") {
  ClientsWorld world;
  world.join("e1", 2);
  Executor second{.id = ExecutorId("e2"), .owner = {}, .host = {.boot_id = "here"}};
  second.host.cores = {0, 1};
  second.host.gpus = {{.index = 0}};
  second.lane_socket = "/run/e2";
  world.broker.executor_joined(second, {}, world.now);
  CHECK(world.broker.largest(on_host("here", {{.gpus = 1}})) == 1);
  CHECK(world.broker.largest(on_host("here")) == 2);
}

TEST_CASE("a worker gets the best alternative that there is, wherever that is") {
  ClientsWorld world;
  world.join("e1", 8);
  Executor far{.id = ExecutorId("e2"),
               .owner = {},
               .host = {.boot_id = "far", .hostname = "node-far", .memory = 64_GiB},
               .lane_socket = "/run/e2",
               .lane_address = "far:1"};
  far.host.cores = {0, 1};
  far.host.gpus = {{.index = 3, .model = "a100"}};
  world.broker.executor_joined(far, {}, world.now);
  world.elsewhere_too = true;
  const ClientLeaseRequest either{
      .worker = {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}}}};
  const auto first = world.opened(either);
  REQUIRE(first.workers.size() == 1);
  CHECK(first.workers[0].boot_id == "far");
  CHECK(first.workers[0].gpus == CoreList{3});
  CHECK(first.workers[0].gpu_model == "a100");
  CHECK(first.workers[0].cores == 1);
  const auto* open = std::get_if<OpenLease>(&world.sent.back());
  REQUIRE(open != nullptr);
  CHECK(open->gpus == CoreList{3});
  const auto second = world.opened(either);
  CHECK(second.workers.at(0).boot_id == "here");
  CHECK(second.workers[0].gpus.empty());
  CHECK(second.workers[0].cores == 4);
  REQUIRE(world.clients.close(ada, first.id, world.now).has_value());
  world.perform();
  CHECK(world.opened(either).workers.at(0).gpus == CoreList{3});

  world.answers.clear();
  world.open({.worker = {.alternatives = {{.gpus = 2}}}});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].error().code == ErrorCode::no_capacity);
  CHECK(world.answers[0].error().message.find("2 too few GPUs free") != std::string::npos);
  world.answers.clear();
  world.open({.worker = {.alternatives = {{.gpus = 1, .gpu_model = "h100"}}}});
  REQUIRE(world.answers.size() == 1);
  CHECK_FALSE(world.answers[0].has_value());
  CHECK_FALSE(world.broker.capacity().placement().audit().has_value());
}

TEST_CASE("a GPU of an executor that has gone is there when the next one offers it") {
  ClientsWorld world;
  const auto join = [&](const std::string& name, std::uint64_t job) {
    Executor executor{.id = ExecutorId(name),
                      .owner = {},
                      .host = {.boot_id = "here", .hostname = "node-here", .memory = 64_GiB},
                      .grant = {.source = GrantSource::pilot, .job = job},
                      .lane_socket = "/run/" + name};
    executor.host.cores = {0, 1};
    executor.host.gpus = {{.index = 0}};
    world.broker.executor_joined(executor, {}, world.now);
    world.perform();
  };
  join("e1", 1);
  world.say("e1", GrantChanged{.cores = {}, .draining = true});
  world.broker.executor_lost(ExecutorId("e1"), world.now);
  join("e2", 2);
  const auto either = on_host("here", {{.cores = 1, .gpus = 1}, {.cores = 2}});
  CHECK(world.broker.largest(on_host("here", {{.gpus = 1}})) == 1);
  CHECK(world.broker.largest(on_host("here", {{.gpus = 2}})) == 0);
  CHECK(world.broker.largest(either) == 2);  // at most: it is no promise
  CHECK(world.opened({.worker = {.alternatives = {{.gpus = 1}}}}).workers.at(0).executor ==
        ExecutorId("e2"));
}

TEST_CASE("a lease that is refused at once can be explained") {
  ClientsWorld world;
  world.join("e1", 4);
  world.open({.worker = {.alternatives = {{.cores = 5}}}});
  REQUIRE(world.answers.size() == 1);
  const std::string& message = world.answers[0].error().message;
  const auto id = message.find("l-2-");
  REQUIRE(id != std::string::npos);
  const auto lease = parse_lease_id(message.substr(id, message.find('\'', id) - id));
  REQUIRE(lease.has_value());
  const auto why = world.broker.explain(ada, *lease);
  REQUIRE(why.has_value());
  CHECK(why->front().refusal.has_value());
  CHECK(why->front().tallies.at(0).counts.at(0).reason == placement::Reason::too_few_cores);
}

TEST_CASE("a tenant's quota speaks at once when it can never be kept, and else after the wait") {
  WorkerBroker broker({.epoch = 2, .boot_id = "here"},
                      {.tenants = {{"ada", {.quota = {.cores = 3}}}}});
  ClientLeases clients(broker, 0);
  Executor executor{.id = ExecutorId("e1"),
                    .owner = {},
                    .host = {.boot_id = "here", .memory = 64_GiB},
                    .lane_socket = "/run/e1"};
  executor.host.cores = {0, 1, 2, 3, 4, 5, 6, 7};
  MonotonicTime now{};
  broker.executor_joined(executor, {}, now);
  std::vector<Result<ClientLeaseView>> answers;
  const auto open = [&](std::string name, std::uint32_t uid, std::uint32_t cores) {
    clients.open({.tenant = {uid, std::move(name)},
                  .worker = on_host("here", {{.cores = cores}}),
                  .within = seconds(1)},
                 now, [&](Result<ClientLeaseView> view) { answers.push_back(std::move(view)); });
  };
  open("ada", ada, 4);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].error().code == ErrorCode::quota);
  open("ada", ada, 2);
  open("ada", ada, 2);
  now += seconds(2);
  clients.tick(now);
  REQUIRE(answers.size() == 3);  // the first one's worker has not been opened in time either
  CHECK(answers[2].error().code == ErrorCode::quota);
  open("eve", 1001, 6);
  CHECK(answers.size() == 3);  // it is on its way
}

TEST_CASE("a gateway that starts anew learns which GPUs are leased") {
  ClientsWorld world;
  Executor executor{.id = ExecutorId("e1"),
                    .owner = {},
                    .host = {.boot_id = "here", .hostname = "node-here", .memory = 64_GiB},
                    .lane_socket = "/run/e1"};
  executor.host.cores = {0, 1, 2};
  executor.host.gpus = {{.index = 0, .model = "a100"}, {.index = 1, .model = "a100"}};
  const LeaseHeld held{.lease = {1, 7},
                       .tenant = {ada, "ada"},
                       .cores_per_worker = 1,
                       .core_ids = {0},
                       .client = {.client_lease = {1, 6}, .expires_in = seconds(20)},
                       .gpus = {1}};
  world.broker.executor_joined(executor, world.clients.adopt({held}, executor, world.now),
                               world.now);
  world.perform();
  const auto adopted = world.clients.find(ada, {1, 6}, world.now);
  REQUIRE(adopted.has_value());
  CHECK(adopted->workers.at(0).gpus == CoreList{1});
  CHECK(adopted->workers[0].gpu_model == "a100");
  CHECK(world.opened({.worker = {.alternatives = {{.gpus = 1}}}}).workers.at(0).gpus ==
        CoreList{0});
  world.answers.clear();
  world.open({.worker = {.alternatives = {{.gpus = 1}}}, .within = seconds(0)});
  world.pass(seconds(1));
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].error().message.find("GPUs") != std::string::npos);
  CHECK_FALSE(world.broker.capacity().placement().audit().has_value());
}

TEST_CASE("a gateway that starts anew learns the leases from the executors") {
  ClientsWorld world;
  const LeaseHeld held{.lease = {1, 7},
                       .tenant = {ada, "ada"},
                       .cores_per_worker = 2,
                       .core_ids = {0, 1},
                       .client = {.client_lease = {1, 6}, .expires_in = seconds(20)}};
  LeaseHeld second = held;
  second.lease = {1, 8};
  second.core_ids = {4, 5};
  world.join("e1", 6, {held, second});
  const auto lease = world.clients.find(ada, {1, 6}, world.now);
  REQUIRE(lease.has_value());
  CHECK(lease->workers.size() == 2);
  CHECK(lease->expires_in == seconds(20));
  CHECK(world.cores_taken() == 4);
  CHECK(world.sent.empty());  // nothing is opened beside them, nothing closed
  // The same once more changes nothing.
  world.join("e1", 6, {held, second});
  CHECK(world.cores_taken() == 4);
  CHECK(world.clients.renew(ada, {1, 6}, {.duration = seconds(60)}, world.now).has_value());
  REQUIRE(world.clients.close(ada, {1, 6}, world.now).has_value());
  world.perform();
  CHECK(world.cores_taken() == 0);
}

TEST_CASE("separate processes are asked of executors that know them, and of no other") {
  ClientsWorld world;
  world.elsewhere_too = true;
  world.join("old", 4, {}, "far");
  world.open({.workers = 1, .separate_processes = true});
  CHECK(world.answers.at(0).error().code == ErrorCode::unsupported);
  CHECK(world.answers[0].error().message.find("update them") != std::string::npos);
  CHECK(world.opened({.workers = 1}).workers.size() == 1);
  world.lane_protocol = apart_lane_protocol;
  world.join("new", 2);
  const auto lease = world.opened({.workers = 2, .separate_processes = true});
  CHECK(lease.separate_processes);
  for (const WorkerGrant& worker : lease.workers) CHECK(worker.executor == ExecutorId("new"));
  const auto* open = std::get_if<OpenLease>(&world.sent.back());
  REQUIRE((open != nullptr && open->client));
  CHECK(open->client->separate_processes);
  CHECK(world.cores_taken() == 2);
}

TEST_CASE("a gateway that starts anew learns that a lease has separate processes") {
  ClientsWorld world;
  world.lane_protocol = apart_lane_protocol;
  world.join(
      "e1", 2,
      {{.lease = {1, 7},
        .tenant = {ada, "ada"},
        .core_ids = {0},
        .client = {
            .client_lease = {1, 6}, .expires_in = seconds(20), .separate_processes = true}}});
  CHECK(world.clients.find(ada, {1, 6}, world.now)->separate_processes);
  // The worker that replaces a lost one is as that was.
  REQUIRE(world.clients.renew(ada, {1, 6}, {.lost = {{1, 7}}}, world.now).has_value());
  world.perform();
  const auto opened = std::ranges::find_if(world.sent, [](const ControlMessage& message) {
    return std::holds_alternative<OpenLease>(message);
  });
  REQUIRE(opened != world.sent.end());
  CHECK(std::get<OpenLease>(*opened).client->separate_processes);
}

TEST_CASE("a lease that is not renewed is forgotten, also when its executor is silent") {
  ClientsWorld world;
  world.join("e1", 2);
  const auto lease = world.opened({.workers = 2, .duration = seconds(10)});
  world.answering = false;
  world.pass(seconds(14));
  CHECK(world.clients.find(ada, lease.id, world.now).has_value());
  world.pass(seconds(2));
  CHECK_FALSE(world.clients.find(ada, lease.id, world.now).has_value());
  CHECK(world.cores_taken() == 2);  // until the executor says so
}

TEST_CASE("a client's workers are not asked back, a dispatcher's are") {
  ClientsWorld world;
  world.join("e1", 2);
  const HolderId dispatcher(1);
  world.broker.add_dispatcher(dispatcher, {});
  world.broker.want_workers(dispatcher, 2, world.now);
  world.perform();
  world.answers.clear();
  world.open({.workers = 1});
  CHECK(world.answers.empty());
  const auto held = world.broker.leases().of_holder(dispatcher);
  REQUIRE(held.size() == 2);
  world.broker.given_back(dispatcher, held[0], world.now);
  world.perform();
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].has_value());
}

}  // namespace
}  // namespace orchid::gateway
