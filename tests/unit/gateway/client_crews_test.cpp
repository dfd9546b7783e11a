// Leases of crews that may have fewer members than were asked for.
#include <doctest/doctest.h>

#include <chrono>

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

}  // namespace orchid::gateway
