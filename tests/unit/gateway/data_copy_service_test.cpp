// Who is asked for copies: for calls, for objects of which more are wanted, and before a grant
// ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "copy_service_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

}  // namespace

TEST_CASE("a call with data of two hosts runs where most bytes are, when the rest has come") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  const DataId large = world.bring(there, "n2", "large", 1000);
  world.gather("small,large");
  CHECK_FALSE(world.call.has_value());
  const auto room = world.last<MakeData>();
  REQUIRE(room.has_value());
  CHECK(room->first == there);
  CHECK(room->second.terms.name == "small");
  CHECK(room->second.created_ago.has_value());
  const auto now = world.service.copies().for_call(data_owner, "small,large");
  REQUIRE(now.has_value());
  CHECK((*now)->waits_for.contains("small@1 (10 B), to be copied to the host n2"));
  CHECK(world.count<MakeData>() == 1);  // once, however often it is asked for
  world.finish_copy(room->second.data);
  REQUIRE(world.call.has_value());
  REQUIRE(world.call->has_value());
  const CallData& data = ***world.call;
  CHECK(data.at.value() == there.value());
  CHECK(data.host == "n2");
  CHECK(data.waits_for.empty());
  CHECK(data.labels == std::vector<std::string>{"small@1", "large@1"});
  CHECK(data.ids.back() == large);
}

TEST_CASE("a call whose data is at one host does not wait, and names that are not there fail") {
  CopyServiceWorld world;
  world.bring(here, "n1", "a", 10);
  world.bring(here, "n1", "b", 10);
  world.gather("a,b");
  REQUIRE(world.call.has_value());
  CHECK((***world.call).at.value() == here.value());
  world.gather("a,c");
  CHECK(world.call->error().code == ErrorCode::not_found);
  CHECK(world.count<MakeData>() == 0);
}

TEST_CASE("a call goes to the copy whose executor is connected, or waits for the one that is not") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10);
  world.join_copying(there, "n2");
  REQUIRE(world.service.copy(data_owner, {.name = "climate"}, {.host = "n2"}).has_value());
  world.finish_copy(id);
  world.broker.executor_lost(here, world.clock.now());
  world.gather("climate");
  REQUIRE(world.call.has_value());
  CHECK((***world.call).at.value() == there.value());
  world.broker.executor_lost(there, world.clock.now());
  world.gather("climate");
  REQUIRE(world.call->has_value());
  CHECK((***world.call).waits_for.empty());
}

TEST_CASE("a call says at its deadline what it has waited for") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  world.bring(there, "n2", "large", 1000);
  world.gather("small,large", seconds(3));
  world.clock.advance(seconds(3));
  world.tick();
  REQUIRE(world.call.has_value());
  CHECK(world.call->error().code == ErrorCode::timed_out);
  CHECK(world.call->error().message.contains("small@1 (10 B), to be copied to the host n2"));
}

TEST_CASE("where there is no room, the call goes to the next host, and else it is told why") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  world.bring(there, "n2", "large", 1000);
  world.gather("small,large");
  const auto first = world.last<MakeData>();
  world.say(there, DataRefused{first->second.data, ErrorCode::no_data_memory, "n2 is full"});
  CHECK_FALSE(world.call.has_value());
  const auto second = world.last<MakeData>();
  CHECK(second->first == here);
  CHECK(second->second.terms.name == "large");
  world.say(here, DataRefused{second->second.data, ErrorCode::no_data_memory, "n1 is full"});
  REQUIRE(world.call.has_value());
  CHECK(world.call->error().code == ErrorCode::data_elsewhere);
  CHECK(world.call->error().message.contains("n1 is full"));
  CHECK(world.call->error().message.contains("large@1 (1000 B) is on n2 (executor e2)"));
}

TEST_CASE("a call whose client has gone does not wait for its data") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  world.bring(there, "n2", "large", 1000);
  world.gather("small,large");
  CHECK_FALSE(world.call.has_value());
  *world.client_gone = true;
  world.tick();
  REQUIRE(world.call.has_value());
  CHECK(world.call->error().code == ErrorCode::cancelled);
}

TEST_CASE("a call waits on while a copy that has failed is not tried again yet") {
  CopyServiceWorld world;
  const DataId small = world.bring(here, "n1", "small", 10);
  const DataId large = world.bring(there, "n2", "large", 1000);
  world.gather("small,large");
  // Neither executor answers in time.
  world.clock.advance(seconds(6));
  world.tick();
  CHECK(world.last<MakeData>()->second.data == large);
  world.clock.advance(seconds(6));
  world.tick();
  for (const auto& [executor, id] : {std::pair(there, small), std::pair(here, large)})
    world.say(executor, DataDropped{id, DataEnd::deleted});
  CHECK(world.count<MakeData>() == 2);
  CHECK_FALSE(world.call.has_value());
  // One that is stored goes back to its queue.
  CHECK(world.service.copies().for_call(data_owner, "small,large").error().code ==
        ErrorCode::unreachable);
  world.clock.advance(seconds(20));
  world.tick();
  CHECK(world.last<MakeData>()->first == there);
  world.finish_copy(small);
  REQUIRE(world.call.has_value());
  CHECK(world.call->has_value());
}

TEST_CASE("what is larger than what an executor keeps is not copied there") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  world.bring(there, "n2", "large", 1000);
  Executor tiny = DataWorld::executor_on("n3", "n3", elsewhere);
  tiny.copies_data = true;
  tiny.data_memory = ByteCount{100};
  world.join(tiny);
  const auto copying = world.service.copy(data_owner, {.name = "large"}, {.host = "n3"});
  REQUIRE_FALSE(copying.has_value());
  CHECK(copying.error().code == ErrorCode::unsupported);
  CHECK(copying.error().message.contains("--data-memory"));
}

TEST_CASE("data of executors that do not copy is elsewhere, as ever") {
  CopyServiceWorld world;
  for (const auto& [id, host] : {std::pair(here, "n1"), std::pair(there, "n2")}) {
    Executor executor = DataWorld::executor_on(host, host, id);
    const DataHeld held{.data = make_data_id(),
                        .terms = {.tenant = {.uid = data_owner, .name = "anna"},
                                  .bytes = ByteCount{10},
                                  .name = host,
                                  .version = 1,
                                  .secret = std::string(64, 's')}};
    world.join(executor, {held});
  }
  world.gather("n1,n2");
  REQUIRE(world.call.has_value());
  CHECK(world.call->error().code == ErrorCode::data_elsewhere);
}

TEST_CASE("a call that waits ends when one of its objects is deleted or lost") {
  CopyServiceWorld world;
  world.bring(here, "n1", "small", 10);
  world.bring(there, "n2", "large", 1000);
  world.gather("small,large");
  world.remove("small");
  REQUIRE((world.removed && world.removed->has_value()));
  world.tick();
  REQUIRE(world.call.has_value());
  CHECK(world.call->error().code == ErrorCode::not_found);
}

TEST_CASE("of an object as many copies are made as are wanted, each on another host") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10, 2);
  world.join_copying(ExecutorId("e1b"), "n1");
  world.tick();
  CHECK(world.count<MakeData>() == 0);  // both are lost with their host
  world.join_copying(there, "n2");
  world.join_copying(elsewhere, "n3");
  world.clock.advance(seconds(2));
  world.tick();
  CHECK(world.count<MakeData>() == 1);
  CHECK(world.last<MakeData>()->second.terms.copies == 2);
  world.finish_copy(id);
  world.clock.advance(seconds(2));
  world.tick();
  CHECK(world.count<MakeData>() == 1);
  // More are wanted, which the holders are told.
  REQUIRE(world.service.copy(data_owner, {.name = "climate"}, {.count = 3}).has_value());
  CHECK(world.count<WishCopies>() == 2);
  CHECK(world.last<WishCopies>()->second.copies == 3);
  CHECK(world.count<MakeData>() == 2);
}

TEST_CASE("when a host is lost, what was there is copied again from one that is left") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10, 2);
  world.join_copying(there, "n2");
  world.tick();
  world.finish_copy(id);
  world.broker.executor_lost(here, world.clock.now());
  world.join_copying(elsewhere, "n3");
  world.clock.advance(seconds(2));
  world.tick();
  CHECK(world.count<MakeData>() == 1);  // it may come back
  world.clock.advance(seconds(5));
  world.tick();
  CHECK(world.count<MakeData>() == 2);
  CHECK(world.last<MakeData>()->first == elsewhere);
  world.finish_copy(id);
  CHECK(world.last<OfferData>()->first == there);
}

TEST_CASE("the last copy leaves an executor whose grant is about to end, and no other") {
  for (const std::string reason : {"walltime", "drain", "neither"}) {
    CAPTURE(reason);
    CopyServiceWorld world;
    const DataId id = world.bring(here, "n1", "climate", 10);
    world.join_copying(there, "n2");
    GrantChanged change{.cores = {0}, .ends_in = minutes(30)};
    if (reason == "walltime") change.ends_in = seconds(50);
    if (reason == "drain") change.draining = true;
    world.broker.executor_said(here, change, world.clock.now());
    world.tick();
    REQUIRE(world.count<MakeData>() == (reason == "neither" ? 0U : 1U));
    if (reason == "neither") continue;
    CHECK(world.last<MakeData>()->first == there);
    world.finish_copy(id);
    world.clock.advance(seconds(2));
    world.tick();
    CHECK(world.count<MakeData>() == 1);
  }
}

TEST_CASE("a copy goes to the host that is named, or it is said why not") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10);
  world.join_copying(there, "n2");
  const auto nowhere = world.service.copy(data_owner, {.name = "climate"}, {.host = "n9"});
  CHECK(nowhere.error().code == ErrorCode::not_found);
  CHECK(nowhere.error().message.contains("'n9'"));
  REQUIRE(world.service.copy(data_owner, {.name = "climate"}, {.host = "n1"}).has_value());
  CHECK(world.count<MakeData>() == 0);  // it is there
  const auto copying = world.service.copy(data_owner, {.name = "climate"}, {.host = "n2"});
  REQUIRE(copying.has_value());
  REQUIRE(copying->arriving.size() == 1);
  CHECK(copying->arriving.front().host == "n2");
  world.finish_copy(id);
  CHECK(world.service.describe(data_owner, {.name = "climate"})->holders.size() == 2);
  CHECK(world.service.copy(data_owner, {.name = "other"}, {.host = "n2"}).error().code ==
        ErrorCode::not_found);
}

TEST_CASE("a copy that was evicted is not made again in the same place at once") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "", 10, 2);
  world.join_copying(there, "n2");
  world.tick();
  world.finish_copy(id);
  world.say(there, DataDropped{id, DataEnd::evicted});
  world.clock.advance(seconds(5));
  world.tick();
  CHECK(world.count<MakeData>() == 1);
  world.clock.advance(seconds(60));
  world.tick();
  CHECK(world.count<MakeData>() == 2);
}

TEST_CASE("surplus copies go for what needs the room, and no others") {
  CopyServiceWorld world;
  const DataId wanted = world.bring(here, "n1", "wanted", 10, 2);
  const DataId spare = world.bring(here, "n1", "spare", 10);
  world.bring(here, "n1", "only", 10);
  world.join_copying(there, "n2");
  world.tick();
  world.finish_copy(wanted);
  REQUIRE(world.service.copy(data_owner, {.name = "spare"}, {.host = "n2"}).has_value());
  world.finish_copy(spare);
  world.clock.advance(seconds(120));
  world.make("new");
  const auto [executor, id] = world.asked();
  CHECK(executor == here);
  world.say(here, DataRefused{id, ErrorCode::no_data_memory, "full"});
  CHECK(world.count<SpareData>() == 1);
  CHECK(world.last<SpareData>()->first == here);
  CHECK(world.last<SpareData>()->second.data == spare);
  CHECK(world.asked() == std::pair(here, id));  // once more
  world.say(here, DataDropped{spare, DataEnd::evicted});
  CHECK(world.service.describe(data_owner, {.name = "spare"})->holders.size() == 1);
  // There is no other one.
  world.say(here, DataRefused{id, ErrorCode::no_data_memory, "full"});
  CHECK(world.count<SpareData>() == 1);
  REQUIRE(world.made.has_value());
  CHECK(world.made->error().code == ErrorCode::no_data_memory);
}

TEST_CASE("a copy that was brought for a call stays for it, and both of two copies never go") {
  CopyServiceWorld world;
  const DataId small = world.bring(here, "n1", "small", 10);
  world.bring(there, "n2", "large", 1000);
  world.gather("small,large");
  world.finish_copy(small);
  CHECK_FALSE(world.service.copies().make_room_at(there, ByteCount{1}));  // it has just come
  world.clock.advance(seconds(120));
  CHECK(world.service.copies().make_room_at(there, ByteCount{1}));
  CHECK_FALSE(world.service.copies().make_room_at(here, ByteCount{1}));
  CHECK_FALSE(world.service.copies().make_room_at(there, ByteCount{1}));  // it was told already
  CHECK(world.count<SpareData>() == 1);
  // However late it hears of that: until it has answered, its copy is not counted on.
  world.clock.advance(seconds(600));
  world.tick();
  CHECK_FALSE(world.service.copies().make_room_at(here, ByteCount{1}));
  world.say(there, DataKept{small});
  CHECK(world.service.copies().make_room_at(here, ByteCount{1}));
  CHECK(world.last<SpareData>()->first == here);
  // Who keeps it is not asked for the same again at once: others may have their turn.
  world.say(here, DataKept{small});
  CHECK_FALSE(world.service.copies().make_room_at(there, ByteCount{1}));
  CHECK_FALSE(world.service.copies().make_room_at(here, ByteCount{1}));
  world.clock.advance(seconds(61));
  CHECK(world.service.copies().make_room_at(there, ByteCount{1}));
}

TEST_CASE("surplus copies go for what only their executor knows, if they are enough and named") {
  CopyServiceWorld world;
  const DataId named = world.bring(there, "n2", "named", 10);
  const DataId unnamed = world.bring(there, "n2", "", 10);
  world.bring(there, "n2", "only", 10);
  world.join_copying(here, "n1");
  for (const DataId& data : {named, unnamed}) {
    REQUIRE(world.service.copy(data_owner, {.id = data}, {.host = "n1"}).has_value());
    world.finish_copy(data);
  }
  world.clock.advance(seconds(120));
  const auto answer_to = [&](std::uint64_t question, std::uint64_t bytes) {
    world.say(there, SpareFor{.question = question, .bytes = ByteCount{bytes}});
    REQUIRE(!world.sent.empty());
    CHECK(world.sent.back().first == there);
    const auto* answer = std::get_if<DataSpared>(&world.sent.back().second);
    REQUIRE(answer != nullptr);
    CHECK(answer->question == question);
    return answer->enough;
  };
  CHECK_FALSE(answer_to(1, 11));  // the unnamed one its executor evicts by itself
  CHECK_FALSE(answer_to(2, 0));
  CHECK(world.count<SpareData>() == 0);
  CHECK(answer_to(3, 10));
  CHECK(world.count<SpareData>() == 1);
  CHECK(world.last<SpareData>()->first == there);
  CHECK(world.last<SpareData>()->second.data == named);
  CHECK_FALSE(answer_to(4, 1));  // it was told already
}

TEST_CASE("room beside leased memory takes as many surplus copies as it lacks, and no more") {
  CopyServiceWorld world;
  const DataId spare = world.bring(here, "n1", "spare", 10);
  world.join_copying(there, "n2");
  REQUIRE(world.service.copy(data_owner, {.id = spare}, {.host = "n2"}).has_value());
  world.finish_copy(spare);
  world.clock.advance(seconds(120));
  const auto leases_take = [&](std::uint64_t bytes) {
    world.broker.executor_said(here, {.data_used = ByteCount{(1_GiB).value - bytes}},
                               world.clock.now());
  };
  leases_take(0);
  CHECK_FALSE(world.service.copies().make_room_at(here, ByteCount{20}));
  leases_take(15);
  CHECK(world.service.copies().make_room_at(here, ByteCount{20}));
  CHECK(world.last<SpareData>()->second.data == spare);
}

TEST_CASE("an executor full of leased memory is not where room is looked for first") {
  CopyServiceWorld world;
  world.join_copying(there, "n2", world.clock.now() + minutes(60));
  world.join_copying(elsewhere, "n3", world.clock.now() + minutes(30));
  const DataId id = world.bring(here, "n1", "climate", 10);
  const auto takes = [&](const ExecutorId& executor, ByteCount bytes) {
    world.broker.executor_said(executor, {.data_used = bytes}, world.clock.now());
  };
  takes(there, 1_GiB);
  REQUIRE(world.service.copy(data_owner, {.id = id}, {.count = 2}).has_value());
  REQUIRE(world.last<MakeData>().has_value());
  CHECK(world.last<MakeData>()->first == elsewhere);
  // Of a client's object, too: both are on the gateway's host.
  const ExecutorId beside("e0");
  world.join_copying(beside, "n1", world.clock.now() + minutes(30));
  takes(here, 1_GiB);
  world.make("new");
  CHECK(world.asked().first == beside);
}

TEST_CASE("an executor that comes back is told how many copies were wished for meanwhile") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10);
  world.join_copying(there, "n2");
  REQUIRE(world.service.copy(data_owner, {.name = "climate"}, {.host = "n2"}).has_value());
  world.finish_copy(id);
  REQUIRE(world.service.copy(data_owner, {.name = "climate"}, {.count = 2}).has_value());
  CHECK(world.count<WishCopies>() == 2);
  // Its stream begins afresh, without what was on its way.
  world.bring(here, "n1", "other", 10);
  CHECK(world.count<WishCopies>() == 3);
  CHECK(world.last<WishCopies>()->first == here);
  CHECK(world.last<WishCopies>()->second.copies == 2);
}

TEST_CASE("after a restart the most copies that a holder knows of are wanted, and all are told") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10, 1);
  world.brought[there] = world.brought[here];
  world.brought[there].front().terms.copies = 2;
  world.bring(there, "n2", "other", 10);
  const auto object = world.service.describe(data_owner, {.id = id});
  REQUIRE(object.has_value());
  CHECK(object->copies == 2);
  CHECK(world.count<WishCopies>() == 1);
  CHECK(world.last<WishCopies>()->first == here);
}

TEST_CASE("a place that has just refused a copy is not asked again at once") {
  CopyServiceWorld world;
  const DataId id = world.bring(here, "n1", "climate", 10, 2);
  world.join_copying(there, "n2");
  world.tick();
  world.say(there, DataRefused{id, ErrorCode::no_data_memory, "full"});
  world.say(there, DataDropped{id, DataEnd::deleted});
  world.clock.advance(seconds(5));
  world.tick();
  CHECK(world.count<MakeData>() == 1);
  world.clock.advance(seconds(10));
  world.tick();
  CHECK(world.count<MakeData>() == 2);
  // The pause is twice as long now.
  world.say(there, DataRefused{id, ErrorCode::no_data_memory, "full"});
  world.say(there, DataDropped{id, DataEnd::deleted});
  world.clock.advance(seconds(15));
  world.tick();
  CHECK(world.count<MakeData>() == 2);
  world.clock.advance(seconds(10));
  world.tick();
  CHECK(world.count<MakeData>() == 3);
}

}  // namespace orchid::gateway
