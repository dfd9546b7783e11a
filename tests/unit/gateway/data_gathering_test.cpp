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
