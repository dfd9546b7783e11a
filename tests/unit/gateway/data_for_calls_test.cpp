// What executors ask for the calls that run on them, with executors that say what the test says.
#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "data_world.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

const ExecutorId asking("e1");
const ExecutorId other("e2");

DataTerms terms_of_call(const std::string& name, ByteCount bytes = ByteCount{10}) {
  return {
      .tenant = {data_owner, "anna"}, .bytes = bytes, .name = name, .secret = std::string(64, 'c')};
}

template <typename Message>
Message last_sent(const DataWorld& world, const ExecutorId& to) {
  REQUIRE(!world.sent.empty());
  CHECK(world.sent.back().first == to);
  REQUIRE(std::holds_alternative<Message>(world.sent.back().second));
  return std::get<Message>(world.sent.back().second);
}

/// A call has made one object, which its executor offers.
DataId offer_one(DataWorld& world, const std::string& name, std::uint64_t question = 8) {
  const DataId id = make_data_id();
  world.say(asking, PublishData{.question = question, .objects = {{id, terms_of_call(name)}}});
  return id;
}
bool is_there(const DataWorld& world, DataId id) {
  return world.service.find(data_owner, {.id = id}).has_value();
}

}  // namespace

TEST_CASE("a call finds the newest version of a name, where it runs, and is told where it is not") {
  DataWorld world;
  world.join(asking);
  world.put();
  const DataId newest = world.put();
  world.join(other);
  const FindData question{.question = 5, .tenant = {data_owner, "anna"}, .reference = "climate"};
  world.say(asking, question);
  CHECK(last_sent<DataFound>(world, asking).question == 5);
  CHECK(last_sent<DataFound>(world, asking).data == newest);
  world.say(other, question);
  const auto elsewhere = last_sent<DataDeclined>(world, other);
  CHECK(elsewhere.code == ErrorCode::data_elsewhere);
  CHECK(elsewhere.message.contains("climate@2"));
  CHECK(elsewhere.message.contains("n1"));
  const auto declined = [&](LeaseTenant tenant, std::string reference) {
    world.say(asking, FindData{6, std::move(tenant), std::move(reference)});
    return last_sent<DataDeclined>(world, asking).code;
  };
  CHECK(declined({data_owner, "anna"}, "weather") == ErrorCode::not_found);
  CHECK(declined({data_owner, "anna"}, "climate@9") == ErrorCode::not_found);
  CHECK(declined({data_owner, "anna"}, "@") == ErrorCode::bad_request);
  CHECK(declined({data_owner + 1, "bob"}, to_string(newest)) == ErrorCode::not_found);
}

TEST_CASE("what a call has made is there when it was offered, with the next version") {
  DataWorld world;
  world.join(asking);
  world.put();
  const DataId named = make_data_id();
  const DataId nameless = make_data_id();
  world.say(asking, PublishData{.question = 8,
                                .objects = {{named, terms_of_call("climate")},
                                            {nameless, terms_of_call("")}}});
  const auto accepted = last_sent<DataAccepted>(world, asking);
  CHECK(accepted.question == 8);
  REQUIRE(accepted.objects.size() == 2);
  CHECK(accepted.objects[0].data == named);
  CHECK(accepted.objects[0].version == 2);
  CHECK_FALSE(accepted.objects[0].expires_in.has_value());
  CHECK(accepted.objects[1].expires_in.has_value());  // as any other without a name
  const auto found = world.service.find(data_owner, {.name = "climate"});
  REQUIRE(found.has_value());
  CHECK(found->object.id == named);
  CHECK(found->object.secret == std::string(64, 'c'));
  CHECK(found->object.holders.front().executor == asking);
}

TEST_CASE("a call's data takes no older version's place before its executor has confirmed it") {
  DataWorld world(seconds(0), {.versions = 1});
  world.join(asking);
  const DataId old = world.put();
  // Its call fails after all, twice.
  for (int failed = 0; failed < 2; ++failed) {
    const DataId made = offer_one(world, "climate");
    CHECK(is_there(world, made));
    CHECK(is_there(world, old));
    world.say(asking, DataDropped{made, DataEnd::expired});
    CHECK_FALSE(is_there(world, made));
    CHECK(world.service.find(data_owner, {.name = "climate"})->object.id == old);
  }
  CHECK(world.drops_of(old) == 0);
  const DataId made = offer_one(world, "climate");
  world.say(asking, DataSealed{made, ByteCount{10}});
  CHECK(is_there(world, made));
  CHECK_FALSE(is_there(world, old));
  CHECK(world.drops_of(old) == 1);
  world.say(asking, DataSealed{made, ByteCount{10}});  // once more
  CHECK(world.drops_of(made) == 0);
}

TEST_CASE("what an executor has not confirmed was never there when it comes back without it") {
  DataWorld world;
  world.join(asking);
  const DataId old = world.put();
  const DataId lost = offer_one(world, "climate");
  const DataTerms terms{.tenant = {.uid = data_owner, .name = "anna"},
                        .bytes = ByteCount{10},
                        .name = "climate",
                        .version = 1,
                        .secret = world.service.find(data_owner, {.id = old})->object.secret};
  world.join(DataWorld::executor_on("here", "n1", asking),
             {{.data = old, .terms = terms, .created_ago = seconds(1), .order = 1}});
  const auto newest = world.service.find(data_owner, {.name = "climate"});
  REQUIRE_MESSAGE(newest.has_value(), newest.error().message);
  CHECK(newest->object.id == old);
  CHECK_FALSE(is_there(world, lost));
}

TEST_CASE("what an executor brings back is confirmed by that") {
  DataWorld world(seconds(0), {.versions = 1});
  world.join(asking);
  const DataId old = world.put();
  const DataId made = offer_one(world, "climate");
  const auto accepted = last_sent<DataAccepted>(world, asking).objects.front();
  DataTerms terms = terms_of_call("climate");
  terms.version = accepted.version;
  world.join(DataWorld::executor_on("here", "n1", asking),
             {{.data = made, .terms = terms, .created_ago = {}, .order = accepted.order}});
  CHECK(world.service.find(data_owner, {.name = "climate"})->object.id == made);
  CHECK_FALSE(is_there(world, old));
}

TEST_CASE("an offer waits for a version that is sealed on a condition, and not for ever") {
  DataWorld world;
  world.join(asking);
  std::optional<Result<ReachableData>> outcome;
  const DataId first = world.write({.bytes = ByteCount{10}, .name = "climate"}, outcome);
  const auto tick = [&world] {
    world.io.restart();
    REQUIRE(world.io.run_one_for(seconds(10)) == 1);
  };
  const auto answers = [&](std::uint64_t question) {
    std::size_t count = 0;
    for (const auto& [to, message] : world.sent) {
      if (const auto* yes = std::get_if<DataAccepted>(&message))
        count += yes->question == question ? 1 : 0;
      if (const auto* no = std::get_if<DataDeclined>(&message))
        count += no->question == question ? 1 : 0;
    }
    return count;
  };
  const DataId second = offer_one(world, "climate", 1);
  CHECK(answers(1) == 0);
  world.say(asking, DataSealed{first, ByteCount{10}});
  CHECK(answers(1) == 1);
  CHECK(world.service.find(data_owner, {.name = "climate"})->object.id == second);
  world.say(asking, DataSealed{second, ByteCount{10}});

  const DataId slow = world.write({.bytes = ByteCount{10}, .name = "climate"}, outcome);
  offer_one(world, "climate", 2);
  const DataId given_up = offer_one(world, "climate", 3);
  world.say(asking, DataDropped{given_up, DataEnd::expired});  // its call has ended
  world.clock.advance(seconds(2));
  tick();
  CHECK(answers(2) == 0);
  world.clock.advance(seconds(2));
  tick();
  CHECK(last_sent<DataDeclined>(world, asking).question == 2);
  CHECK(answers(2) == 1);
  // Those of an executor that begins anew are another process's.
  offer_one(world, "climate", 4);
  world.join(asking);
  world.say(asking, DataSealed{slow, ByteCount{10}});
  CHECK(answers(3) + answers(4) == 0);
  CHECK_FALSE(is_there(world, given_up));
}

TEST_CASE("of what a call offers all is taken or nothing") {
  DataWorld world;
  world.join(asking);
  const DataId first = make_data_id();
  const auto declined = [&](const DataTerms& second, DataId id = make_data_id()) {
    world.say(asking,
              PublishData{.question = 9, .objects = {{first, terms_of_call("a")}, {id, second}}});
    const auto why = last_sent<DataDeclined>(world, asking);
    CHECK(why.question == 9);
    CHECK_FALSE(world.service.find(data_owner, {.name = "a"}).has_value());
    CHECK_FALSE(world.service.find(data_owner, {.id = first}).has_value());
    return why.code;
  };
  CHECK(declined(terms_of_call("d-00112233445566778899aabbccddeeff")) == ErrorCode::bad_request);
  CHECK(declined(terms_of_call("b"), first) == ErrorCode::conflict);
  const DataId known = world.put();
  CHECK(declined(terms_of_call("b"), known) == ErrorCode::conflict);
  CHECK(world.service.find(data_owner, {.id = known}).has_value());
  // One that does not fit any more.
  DataWorld small(std::chrono::seconds(0), {.per_tenant = ByteCount{15}});
  small.join(asking);
  small.say(asking, PublishData{.question = 9,
                                .objects = {{first, terms_of_call("a")},
                                            {make_data_id(), terms_of_call("b")}}});
  CHECK(last_sent<DataDeclined>(small, asking).code == ErrorCode::quota);
  CHECK_FALSE(small.service.find(data_owner, {.name = "a"}).has_value());
  CHECK(small.drops_of(first) == 1);
}

TEST_CASE("a call's data gets no name before the executors can have come back") {
  DataWorld world(seconds(5));
  world.join(asking);
  const PublishData offer{.question = 3, .objects = {{make_data_id(), terms_of_call("climate")}}};
  world.say(asking, offer);
  CHECK(last_sent<DataDeclined>(world, asking).code == ErrorCode::unreachable);
  world.clock.advance(seconds(5));
  world.say(asking, offer);
  CHECK(last_sent<DataAccepted>(world, asking).objects.size() == 1);
}

}  // namespace orchid::gateway
