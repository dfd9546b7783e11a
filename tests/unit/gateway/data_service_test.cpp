// The conversation with executors about data objects, with executors that say what the test says.
#include <doctest/doctest.h>

#include <chrono>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const ExecutorId lasting("e1");
const ExecutorId longer_lasting("e2");
}  // namespace

TEST_CASE("nothing is put under a name before the executors can have come back") {
  DataWorld world(seconds(5));
  world.join(lasting);
  world.make();
  REQUIRE(world.made.has_value());
  CHECK(world.made->error().code == ErrorCode::unreachable);
  CHECK(world.made->error().message.contains("climate"));
  CHECK(world.sent.empty());
  world.make("");
  CHECK(world.asked().first == lasting);
  world.clock.advance(seconds(5));
  world.make();
  CHECK(world.sent.size() == 2);
}

TEST_CASE("the writer of a room that has gone is told, once") {
  DataWorld world;
  world.join(lasting);
  world.make();
  const DataId id = world.asked().second;
  world.say(lasting, DataMade{id});
  int gone = 0;
  world.service.watch(id, [&] { ++gone; });
  CHECK(gone == 0);
  world.say(lasting, DataDropped{id, DataEnd::unfinished});
  CHECK(gone == 1);
  world.say(lasting, DataDropped{id, DataEnd::unfinished});
  CHECK(gone == 1);
  world.service.watch(id, [&] { ++gone; });
  CHECK(gone == 2);  // it has gone before it was watched
}

TEST_CASE("who has written a room, or given it up, is not told that it has gone") {
  DataWorld world;
  world.join(lasting);
  world.make();
  const DataId id = world.asked().second;
  world.say(lasting, DataMade{id});
  int gone = 0;
  world.service.watch(id, [&] { ++gone; });
  world.service.abandon(id);
  world.say(lasting, DataDropped{id, DataEnd::deleted});
  CHECK(gone == 0);
}

TEST_CASE("a room is its user's own, once it is there and until it is being sealed") {
  DataWorld world;
  world.join(lasting);
  world.make();
  const DataId id = world.asked().second;
  const auto refusal = [&](uid_t user) {
    const auto may = world.service.check_room(user, id);
    return may ? std::optional<ErrorCode>() : may.error().code;
  };
  CHECK(refusal(data_owner) == ErrorCode::not_found);  // nobody has been told of it yet
  world.say(lasting, DataMade{id});
  CHECK_FALSE(refusal(data_owner));
  CHECK(refusal(data_owner + 1) == ErrorCode::not_found);
  world.service.seal(id, [](const Result<ReachableData>& /*sealed*/) {});
  CHECK(refusal(data_owner) == ErrorCode::conflict);
  world.say(lasting, DataSealed{id, ByteCount{10}});
  CHECK(refusal(data_owner) == ErrorCode::not_found);
}

TEST_CASE("what is sealed for nobody is dropped, and what is there is not") {
  DataWorld world;
  world.join(lasting);
  const DataId stranger = make_data_id();
  world.say(lasting, DataSealed{stranger, ByteCount{10}});
  CHECK(world.drops_of(stranger) == 1);
  const DataId id = world.put();
  world.say(lasting, DataSealed{id, ByteCount{10}});
  CHECK(world.drops_of(id) == 0);
}

TEST_CASE("of one name one object is sealed after the other, and of others meanwhile") {
  DataWorld world;
  world.join(lasting);
  std::optional<Result<ReachableData>> first;
  std::optional<Result<ReachableData>> second;
  std::optional<Result<ReachableData>> other;
  const DataId one = world.write({.name = "climate"}, first);
  const DataId two = world.write({.name = "climate"}, second);
  const DataId three = world.write({.name = "weather"}, other);
  REQUIRE(world.seals().size() == 2);
  CHECK(world.seals()[0].data == one);
  CHECK(world.seals()[1].data == three);
  world.say(lasting, DataSealed{two, ByteCount{0}});  // which it was not asked for
  CHECK_FALSE(second.has_value());
  SUBCASE("when the first one is there") {
    world.say(lasting, DataSealed{one, ByteCount{0}});
    REQUIRE(first.has_value());
    CHECK(first->has_value());
  }
  SUBCASE("when the first one's executor has lost it") {
    world.say(lasting, DataDropped{one, DataEnd::unfinished});
    REQUIRE(first.has_value());
    CHECK(first->error().code == ErrorCode::unreachable);
  }
  REQUIRE(world.seals().size() == 3);
  CHECK(world.seals()[2].data == two);
  CHECK(world.seals()[2].order > world.seals()[0].order);
  world.say(lasting, DataSealed{two, ByteCount{0}});
  REQUIRE(second.has_value());
  CHECK(second->has_value());
}

TEST_CASE("what is refused for its precondition was never sealed") {
  DataWorld world;
  world.join(lasting);
  std::optional<Result<ReachableData>> first;
  std::optional<Result<ReachableData>> second;
  const Precondition is_free{.if_match = {}, .if_none_match = true};
  const DataId one = world.write({.name = "climate", .precondition = is_free}, first);
  const DataId two = world.write({.name = "climate", .precondition = is_free}, second);
  world.say(lasting, DataSealed{one, ByteCount{0}});
  REQUIRE(first.has_value());
  CHECK(first->has_value());
  REQUIRE(second.has_value());
  CHECK(second->error().code == ErrorCode::conflict);
  CHECK(world.seals().size() == 1);
  CHECK(world.drops_of(two) == 1);
}

TEST_CASE("an object's time runs from its last byte on, at its executor, too") {
  DataWorld world;
  world.join(lasting);
  world.service.make({.tenant = {.uid = data_owner, .name = "anna"},
                      .bytes = ByteCount{10},
                      .name = "climate",
                      .expires_in = seconds(60)},
                     [](const Result<ReachableData>&) {});
  const DataId id = world.asked().second;
  world.say(lasting, DataMade{id});
  world.clock.advance(seconds(50));  // it is written slowly
  world.service.seal(id, [](const Result<ReachableData>&) {});
  REQUIRE(world.seals().size() == 1);
  CHECK(world.seals()[0].expires_in == seconds(60));
}

TEST_CASE("a call that was accepted keeps its version, whatever comes after it") {
  DataWorld world;
  world.join(lasting);
  const DataId old = world.put();
  auto given = world.service.copies().for_call(data_owner, "climate");
  REQUIRE(given.has_value());
  CHECK((*given)->ids == std::vector{old});
  CHECK((*given)->labels == std::vector<std::string>{"climate@1"});
  for (int i = 0; i < 5; ++i) (void)world.put();
  CHECK(world.drops_of(old) == 0);
  CHECK(
      world.service.copies().for_call(data_owner, to_string(old)).has_value());  // as a retry asks
  world.io.poll();
  CHECK(world.drops_of(old) == 0);
  given->reset();
  world.clock.advance(seconds(1));  // the answer to the retry is forgotten
  world.service.copies().tick(world.clock.now());
  world.io.restart();
  world.io.poll();
  CHECK(world.drops_of(old) == 1);
  CHECK_FALSE(world.service.copies().for_call(data_owner, to_string(old)).has_value());
}

TEST_CASE("room is made where the grant lasts, and nowhere where it is about to end") {
  DataWorld world;
  world.join(lasting, world.clock.now() + minutes(5));
  world.join(longer_lasting, world.clock.now() + minutes(60));
  world.make("a");
  CHECK(world.asked().first == longer_lasting);
  DataWorld alone;
  alone.join(lasting, MonotonicTime::max(), /*draining=*/true);
  alone.make("a");
  REQUIRE(alone.made.has_value());
  CHECK(alone.made->error().code == ErrorCode::no_data_memory);
}

TEST_CASE("an executor has the time to put data on disk for a large room") {
  DataWorld world;
  world.join(lasting);
  std::optional<Result<ReachableData>> made;
  world.service.make(
      {.tenant = {.uid = data_owner, .name = "anna"}, .bytes = 640_MiB, .name = "large"},
      [&](const Result<ReachableData>& result) { made = result; });
  const DataId id = world.asked().second;
  const auto look = [&] { world.say(lasting, DataDropped{make_data_id(), DataEnd::deleted}); };
  world.clock.advance(seconds(14));
  look();
  CHECK_FALSE(made.has_value());
  world.clock.advance(seconds(2));
  look();
  REQUIRE(made.has_value());
  CHECK(made->error().code == ErrorCode::unreachable);
  CHECK(world.drops_of(id) >= 1);
}

TEST_CASE("durable data goes where it is kept as a file, and its seal has time for that") {
  DataWorld world;
  world.join(ExecutorId("plain"));
  // For somebody else.
  Executor another = DataWorld::executor_on("here", "n1", ExecutorId("another"));
  another.keeps_data = true;
  another.grant.users = GrantUsers::owner;
  another.owner.tenant.uid = data_owner + 1;
  world.join(another);
  std::optional<Result<ReachableData>> made;
  const auto make = [&] {
    made.reset();
    world.service.make({.tenant = {.uid = data_owner, .name = "anna"},
                        .bytes = ByteCount{10},
                        .name = "climate",
                        .durable = true},
                       [&](const Result<ReachableData>& result) { made = result; });
  };
  make();
  REQUIRE(made.has_value());
  REQUIRE_FALSE(made->has_value());
  CHECK(made->error().code == ErrorCode::unsupported);
  CHECK(made->error().message.find("--data-durable") != std::string::npos);

  Executor keeper = DataWorld::executor_on("here", "n1", ExecutorId("keeper"));
  keeper.keeps_data = true;
  world.join(keeper);
  make();
  const auto [executor, id] = world.asked();
  CHECK(executor == keeper.id);
  CHECK(std::get<MakeData>(world.sent.back().second).terms.durable);
  world.say(executor, DataMade{id});
  std::optional<Result<ReachableData>> sealed;
  world.service.seal(id, [&](const Result<ReachableData>& result) { sealed = result; });
  world.clock.advance(seconds(20));                                    // of a slow disk
  world.say(executor, DataDropped{make_data_id(), DataEnd::unknown});  // it looks at all then
  CHECK_FALSE(sealed.has_value());
  world.say(executor, DataRefused{id, ErrorCode::disk_full, "its file could not be written"});
  REQUIRE(sealed.has_value());
  REQUIRE_FALSE(sealed->has_value());
  CHECK(sealed->error().code == ErrorCode::disk_full);
  CHECK(sealed->error().message.find("its file could not be written") != std::string::npos);
  CHECK(world.drops_of(id) == 1);
  CHECK(world.service.list(data_owner).empty());
  // The next one of that name is not held up by it.
  make();
  const auto again = world.asked();
  world.say(again.first, DataMade{again.second});
  world.service.seal(again.second, [&](const Result<ReachableData>& result) { sealed = result; });
  world.say(again.first, DataSealed{again.second, ByteCount{10}});
  CHECK((sealed->has_value() && (*sealed)->object.durable));
}

TEST_CASE("a seal has time for all that its executor's disk may have before it") {
  bool is_large_first = false;
  bool comes = false;
  SUBCASE("a large one came before") {
    is_large_first = true;
    SUBCASE("and it comes") { comes = true; }
    SUBCASE("and it does not come") {}
  }
  SUBCASE("a large one came later") {
    SUBCASE("and it comes") { comes = true; }
    SUBCASE("and it does not come") {}
  }
  DataWorld world;
  Executor keeper = DataWorld::executor_on("here", "n1", ExecutorId("keeper"));
  keeper.keeps_data = true;
  world.join(keeper);
  std::optional<Result<ReachableData>> large;
  std::optional<Result<ReachableData>> small;
  const auto look = [&] { world.say(keeper.id, DataDropped{make_data_id(), DataEnd::deleted}); };
  const auto write_large = [&] {
    world.write({.bytes = 960_MiB, .name = "large", .durable = true}, large);
  };
  if (is_large_first) write_large();
  const DataId data = world.write({.bytes = 1_MiB, .name = "small", .durable = true}, small);
  if (!is_large_first) write_large();
  // A minute for the large one.
  world.clock.advance(seconds(90));
  look();
  CHECK_FALSE(small.has_value());
  CHECK_FALSE(large.has_value());
  if (comes) {
    world.say(keeper.id, DataSealed{data, 1_MiB});
  } else {
    world.clock.advance(seconds(20));
    look();
  }
  REQUIRE(small.has_value());
  CHECK(small->has_value() == comes);
}

TEST_CASE("durable data that is deleted does not come back with the next executor of its files") {
  DataWorld world;
  Executor keeper = DataWorld::executor_on("here", "n1", ExecutorId("keeper"));
  keeper.keeps_data = true;
  world.join(keeper);
  std::optional<Result<ReachableData>> sealed;
  const DataId id =
      world.write({.bytes = ByteCount{10}, .name = "climate", .durable = true}, sealed);
  const DataTerms terms = std::get<MakeData>(world.sent.front().second).terms;
  world.say(keeper.id, DataSealed{id, ByteCount{10}});
  REQUIRE((sealed.has_value() && sealed->has_value()));
  world.remove("climate");
  CHECK(world.drops_of(id) == 1);
  CHECK(world.service.list(data_owner).empty());
  CHECK_FALSE(world.removed.has_value());  // its file is there
  world.broker.executor_lost(keeper.id, world.clock.now());
  // It ends before it has removed the file, and before anybody takes it for gone another one
  // begins.
  Executor next = DataWorld::executor_on("here", "n1", ExecutorId("next"));
  next.keeps_data = true;
  world.join(next, {DataHeld{.data = id, .terms = terms, .order = 1}});
  CHECK(world.service.list(data_owner).empty());
  CHECK(world.drops_of(id) == 2);
  CHECK(world.sent.back().first == next.id);
  CHECK_FALSE(world.removed.has_value());
  world.say(next.id, DataDropped{id, DataEnd::deleted});
  CHECK(world.service.list(data_owner).empty());
  REQUIRE(world.removed.has_value());
  CHECK(world.removed->has_value());
}

TEST_CASE("nothing is removed while an executor that has it may come back without knowing") {
  DataWorld world;
  world.join(lasting);
  const DataId id = world.put();
  world.broker.executor_lost(lasting, world.clock.now());
  world.remove("climate");
  REQUIRE((world.removed && !world.removed->has_value()));
  CHECK(world.removed->error().code == ErrorCode::unreachable);
  CHECK(world.removed->error().message.contains("climate@1"));
  CHECK(world.drops_of(id) == 0);
}

}  // namespace orchid::gateway
