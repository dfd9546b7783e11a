// Clients' leases whose workers are the members of a crew.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <variant>
#include <vector>

#include "clients_world.h"
#include "protocol/lane_protocol.h"

namespace orchid::gateway {
namespace {

TEST_CASE("a crew is all at one executor, which is told how many its members are") {
  ClientsWorld world;
  world.join("old", 4);
  world.open({.workers = 3, .at_least = 3, .crew = true});
  CHECK(world.answers.at(0).error().code == ErrorCode::unsupported);
  CHECK(world.answers[0].error().message.find("forms no crews") != std::string::npos);
  ClientsWorld fresh;
  fresh.lane_protocol = crew_lane_protocol;
  fresh.join("e1", 4);
  const auto lease = fresh.opened({.workers = 3, .at_least = 3, .crew = true});
  CHECK(lease.crew);
  CHECK(lease.workers.size() == 3);
  for (const ControlMessage& message : fresh.sent)
    if (const auto* open = std::get_if<OpenLease>(&message)) CHECK(open->client->crew == 3);
}

TEST_CASE("a crew that two executors of a host would have to share is refused, and holds nothing") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 2);
  world.join("e2", 4);
  world.open({.workers = 5, .at_least = 5, .crew = true});
  REQUIRE(world.answers.size() == 1);
  REQUIRE_FALSE(world.answers[0].has_value());
  CHECK(world.answers[0].error().code == ErrorCode::no_capacity);
  CHECK(world.cores_taken() == 0);
}

TEST_CASE("a crew may be at several executors of those that take clients of other hosts") {
  ClientsWorld world;
  world.lane_protocol = spread_crew_lane_protocol;
  world.elsewhere_too = true;
  world.join("e1", 4, {}, "far");
  world.join("near", 4);
  const auto lease =
      world.opened({.workers = 4, .at_least = 4, .crew = true, .crew_spreads = true});
  for (const WorkerGrant& worker : lease.workers) CHECK(worker.boot_id == "far");
  world.open({.workers = 5, .at_least = 5, .crew = true, .crew_spreads = true});
  CHECK(world.answers.at(1).error().message.find("--lane-listen") != std::string::npos);
}

TEST_CASE("a crew that loses a member is given back as a whole") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 4);
  const auto lease = world.opened({.workers = 3, .at_least = 3, .crew = true});
  world.say("e1", LeaseClosed{lease.workers[1].lease, LeaseEnd::reclaimed});
  CHECK_FALSE(world.clients.find(ada, lease.id, world.now).has_value());
  CHECK(world.cores_taken() == 0);
}

TEST_CASE("a crew that loses a member while it waits for others is not granted with fewer") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 4);
  const auto other = world.opened({.workers = 2, .duration = seconds(10)});
  world.sent.clear();
  world.open({.workers = 3, .at_least = 3, .crew = true, .within = seconds(60)});
  REQUIRE_FALSE(world.sent.empty());
  // Nobody could claim it in time.
  const LeaseId member = std::get<OpenLease>(world.sent.front()).lease;
  world.say("e1", LeaseClosed{member, LeaseEnd::lapsed});
  CHECK(world.answers.size() == 1);
  REQUIRE(world.clients.close(ada, other.id, world.now).has_value());
  world.perform();
  REQUIRE(world.answers.size() == 2);
  CHECK(world.answers[1].value().workers.size() == 3);
}

TEST_CASE("a gateway that starts anew learns that a lease is of a crew") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  LeaseHeld held{.lease = {1, 7},
                 .tenant = {ada, "ada"},
                 .core_ids = {0},
                 .client = {.client_lease = {1, 6}, .expires_in = seconds(20), .crew = 2}};
  LeaseHeld second = held;
  second.lease = {1, 8};
  second.core_ids = {1};
  world.join("e1", 2, {held, second});
  CHECK(world.clients.find(ada, {1, 6}, world.now)->crew);
}

TEST_CASE("a crew that may be smaller is as large as there is room, and stays so") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 6);
  const auto other = world.opened({.workers = 1, .duration = seconds(10)});
  const auto crew = world.opened({.workers = 8, .at_least = 4, .crew = true});
  CHECK(crew.workers.size() == 5);
  CHECK(crew.workers_wanted == 5);
  REQUIRE(world.clients.close(ada, other.id, world.now).has_value());
  world.pass(seconds(1));
  CHECK(world.clients.find(ada, crew.id, world.now)->workers.size() == 5);
  CHECK(world.cores_taken() == 5);
  world.answers.clear();
  world.open({.workers = 8, .at_least = 7, .crew = true});
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].error().code == ErrorCode::no_capacity);
}

TEST_CASE("a crew that may be smaller waits until there are enough") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 4);
  const auto other = world.opened({.workers = 2, .duration = seconds(10)});
  world.answers.clear();
  world.open({.workers = 4, .at_least = 3, .crew = true, .within = seconds(60)});
  CHECK(world.answers.empty());
  REQUIRE(world.clients.close(ada, other.id, world.now).has_value());
  world.perform();
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].value().workers.size() == 4);
}

TEST_CASE("of a crew that may be smaller the larger part stays, and the rest goes back") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 2);
  world.join("e2", 4);
  const auto crew = world.opened({.workers = 6, .at_least = 3, .crew = true});
  REQUIRE(crew.workers.size() == 4);
  for (const auto& worker : crew.workers) CHECK(worker.executor == ExecutorId("e2"));
  CHECK(world.cores_taken() == 4);
  world.pass(seconds(1));
  CHECK(world.clients.find(ada, crew.id, world.now)->workers.size() == 4);
}

TEST_CASE("a worker that comes when its crew stands goes back, and the crew stays") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 6);
  world.answering = false;
  world.open({.workers = 6, .at_least = 4, .crew = true, .within = seconds(1)});
  std::vector<LeaseId> asked;
  for (const ControlMessage& message : world.sent)
    if (const auto* open = std::get_if<OpenLease>(&message)) asked.push_back(open->lease);
  REQUIRE(asked.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) world.say("e1", LeaseOpened{asked[i], 1});
  CHECK(world.answers.empty());
  world.pass(seconds(1));
  REQUIRE(world.answers.size() == 1);
  const ClientLeaseView crew = world.answers[0].value();
  CHECK(crew.workers.size() == 5);
  world.answering = true;
  world.say("e1", LeaseOpened{asked[5], 1});
  CHECK(std::get<CloseLease>(world.sent.back()).lease == asked[5]);
  world.pass(seconds(1));
  CHECK(world.clients.find(ada, crew.id, world.now)->workers.size() == 5);
  CHECK(world.cores_taken() == 5);
}

TEST_CASE("nobody comes in the place of a crew's member that its client has lost") {
  ClientsWorld world;
  world.lane_protocol = crew_lane_protocol;
  world.join("e1", 6);
  const auto crew = world.opened({.workers = 4, .crew = true});
  REQUIRE(world.clients
              .renew(ada, crew.id, {.duration = seconds(10), .lost = {crew.workers[0].lease}},
                     world.now)
              .has_value());
  world.perform();
  CHECK(world.clients.find(ada, crew.id, world.now)->workers.size() == 3);
  CHECK(world.cores_taken() == 3);
}

TEST_CASE("a crew at several executors that may be smaller keeps what it gets at all of them") {
  ClientsWorld world;
  world.lane_protocol = spread_crew_lane_protocol;
  world.elsewhere_too = true;
  world.join("e1", 2, {}, "far");
  world.join("e2", 2, {}, "farther");
  const auto crew = world.opened({.workers = 6, .at_least = 3, .crew = true, .crew_spreads = true});
  CHECK(crew.workers.size() == 4);
  CHECK(crew.workers_wanted == 4);
  for (const char* host : {"far", "farther"})
    CHECK(world.broker.capacity().cores_leased(host) == 2);
}

}  // namespace
}  // namespace orchid::gateway
