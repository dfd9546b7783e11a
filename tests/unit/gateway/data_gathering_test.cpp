// Where calls with data run when not every host could run them, and what is copied for that.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "copy_service_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

}  // namespace

TEST_CASE("a call that no holder of its data could run has it brought to a host that could") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10);
  world.join_copying(there, "n2");
  world.join_large(elsewhere, "n3");
  const placement::WorkerRequest four_cores{.alternatives = {{.cores = 4}}};
  const auto now = world.service.copies().for_call(data_owner, "climate", four_cores);
  REQUIRE(now.has_value());
  CHECK((*now)->at.value() == elsewhere.value());
  CHECK((*now)->waits_for ==
        "climate@1 (10 B), to be copied to the host n3, since no host that has any of it could run "
        "the call");
  world.gather("climate", seconds(60), four_cores);
  CHECK_FALSE(world.call.has_value());
  CHECK(world.count<MakeData>() == 1);
  world.finish_copy(id);
  REQUIRE(world.call.has_value());
  REQUIRE(world.call->has_value());
  CHECK((***world.call).host == "n3");
  // It has a copy now as others do; whoever needs no more goes where it pleases.
  world.gather("climate", seconds(60), four_cores);
  CHECK((***world.call).host == "n3");
  CHECK(world.count<MakeData>() == 1);
}

TEST_CASE("a call whose data is where no core is left now is taken elsewhere, if it can be") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10);
  const auto give_cores = [&](const GrantChanged& grant) {
    world.broker.executor_said(here, grant, world.clock.now());
    world.clock.advance(seconds(1));
    world.broker.tick(world.clock.now());
  };
  give_cores({});
  world.gather("climate");
  REQUIRE(world.call.has_value());  // there is no other: it waits for these cores
  CHECK((***world.call).host == "n1");
  world.call.reset();
  SUBCASE("others' executors do not help") {
    world.join_of_another_owner(there, "n2");
    world.gather("climate");
    REQUIRE(world.call.has_value());
    CHECK((***world.call).host == "n1");
    return;
  }
  world.join_copying(there, "n2");
  world.gather("climate");
  CHECK_FALSE(world.call.has_value());
  SUBCASE("it is copied") {
    world.finish_copy(id);
    REQUIRE(world.call.has_value());
    CHECK((***world.call).host == "n2");
  }
  SUBCASE("there is no room for it: it waits, and says what for") {
    const auto room = world.last<MakeData>();
    REQUIRE(room.has_value());
    world.say(room->first, DataRefused{id, ErrorCode::no_data_memory, "it is full"});
    world.tick();
    CHECK_FALSE(world.call.has_value());
    const auto found = world.service.copies().for_call(data_owner, "climate");
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == ErrorCode::unreachable);
    CHECK(found.error().message ==
          "the host of its data, n1, has no cores for Orchid now, and the data cannot be copied to "
          "another one: it is full");
    give_cores({.cores = {0}});
    world.tick();
    REQUIRE(world.call.has_value());
    CHECK((***world.call).host == "n1");
  }
}

TEST_CASE("what is spread over hosts that cannot have all of it now is brought to another one") {
  CopyServiceWorld world;
  const DataId climate = world.bring(here, "n1", "climate", 10);
  world.bring(there, "n2", "rain", 10);
  world.broker.executor_said(here, GrantChanged{}, world.clock.now());
  world.join_copying(elsewhere, "n3");
  world.clock.advance(seconds(1));
  world.broker.tick(world.clock.now());
  const auto first = world.service.copies().for_call(data_owner, "climate,rain");
  REQUIRE(first.has_value());
  CHECK((*first)->host == "n2");
  world.say(there, DataRefused{climate, ErrorCode::no_data_memory, "it is full"});
  const auto second = world.service.copies().for_call(data_owner, "climate,rain");
  REQUIRE(second.has_value());
  CHECK((*second)->host == "n3");
  CHECK((*second)->waits_for.starts_with("climate@1 (10 B) and rain@1 (10 B), to be copied to"));
}

TEST_CASE("of the holders those count that could run the call, even with fewer bytes") {
  CopyServiceWorld world;
  const DataId large = world.bring(here, "n1", "large", 1000);
  world.join_large(there, "n2");
  world.gather("large", seconds(60), {.alternatives = {{.cores = 4}}});
  world.finish_copy(large);
  const DataId small = world.bring(here, "n1", "small", 10);
  world.gather("large,small", seconds(60), {.alternatives = {{.cores = 2}}});
  const auto room = world.last<MakeData>();
  REQUIRE(room.has_value());
  CHECK(room->first == there);
  CHECK(room->second.data == small);
}

TEST_CASE("a call one of whose objects fits nowhere does not fill all hosts with the others") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  world.bring(here, "n1", "large", 1000);
  for (int number = 2; number < 8; ++number)
    world.join_large(ExecutorId("f" + std::to_string(number)), "f" + std::to_string(number),
                     ByteCount{500});
  world.gather("small,large", seconds(60), {.alternatives = {{.cores = 4}}});
  REQUIRE(world.call.has_value());
  REQUIRE_FALSE(world.call->has_value());
  CHECK(world.count<MakeData>() <= 2);
  for (int look = 0; look < 10; ++look) {
    world.clock.advance(seconds(1));
    world.gather("small,large", seconds(60), {.alternatives = {{.cores = 4}}});
  }
  CHECK(world.count<MakeData>() <= 2);
}

TEST_CASE("what no host could run stays where its data is, and no room elsewhere is told") {
  CopyServiceWorld world;
  world.bring(here, "n1", "climate", 10);
  world.join_copying(there, "n2");
  world.gather("climate", seconds(60), {.alternatives = {{.cores = 4}}});
  REQUIRE(world.call.has_value());
  CHECK((***world.call).host == "n1");  // where it is told why there is no worker
  world.join_large(elsewhere, "n3", ByteCount{5});
  world.gather("climate", seconds(60), {.alternatives = {{.cores = 4}}});
  REQUIRE_FALSE(world.call->has_value());
  CHECK(world.call->error().code == ErrorCode::data_elsewhere);
  CHECK(world.call->error().message.contains("does not fit on the host n3"));
  CHECK(world.count<MakeData>() == 0);
}

}  // namespace orchid::gateway
