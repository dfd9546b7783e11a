// Leases of crews that may have fewer members than were asked for.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <variant>
#include <vector>

#include "clients_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

}  // namespace

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

}  // namespace orchid::gateway
