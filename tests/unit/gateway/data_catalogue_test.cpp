#include <doctest/doctest.h>

#include "data/data_catalogue.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

constexpr uid_t anna = 1000;
constexpr uid_t ben = 1001;
const ExecutorId first_holder("e1");
const ExecutorId second_holder("e2");
const MonotonicTime beginning{std::chrono::hours(1)};

struct Books {
  explicit Books(DataCatalogue::Limits limits = {.versions = 2}, std::uint64_t epoch = 1)
      : data(limits, epoch) {}
  DataCatalogue data;
  MonotonicTime now = beginning;

  Result<DataId> room(const std::string& name, std::uint64_t bytes = 10, Precondition when = {},
                      std::optional<std::chrono::milliseconds> lives_for = {}) {
    auto made = data.make_room({.id = make_data_id(),
                                .tenant = {.uid = anna, .name = "anna"},
                                .bytes = ByteCount{bytes},
                                .name = name,
                                .secret = "s",
                                .expires_in = lives_for,
                                .precondition = std::move(when)},
                               now);
    if (!made) return fail(made.error());
    const DataId id = (*made)->id;
    data.put_room(id, {first_holder, "n1"});
    return id;
  }
  /// Its executor may be told to seal it.
  Result<bool> begin_to_seal(DataId id) {
    DataDrops none;
    return data.begin_to_seal(id, none);
  }
  DataDrops publish(DataId id) {
    DataDrops drops;
    REQUIRE(data.begin_to_seal(id, drops).value());
    REQUIRE(data.publish(id, drops, now).has_value());
    return drops;
  }
  DataId put(const std::string& name, std::uint64_t bytes = 10) {
    const DataId id = room(name, bytes).value();
    (void)publish(id);
    return id;
  }
  ErrorCode missing(const DataReference& reference, uid_t tenant = anna) {
    return data.find(tenant, reference, now).error().code;
  }
};

/// What an executor says that it has.
DataHeld climate_of_anna(std::uint64_t version) {
  return {.data = make_data_id(),
          .terms = {.tenant = {.uid = anna, .name = "anna"},
                    .bytes = ByteCount{7},
                    .name = "climate",
                    .version = version,
                    .expires_in = {},
                    .secret = "s"}};
}

}  // namespace

TEST_CASE("nobody finds a room, and everybody of the tenant its sealed object") {
  Books books;
  const DataId id = books.room("climate").value();
  CHECK(books.missing({.name = "climate"}) == ErrorCode::not_found);
  CHECK(books.missing({.id = id}) == ErrorCode::not_found);
  (void)books.publish(id);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->version == 1);
  CHECK((*books.data.find(anna, {.id = id}, books.now))->name == "climate");
  CHECK(books.missing({.id = id}, ben) == ErrorCode::not_found);
  CHECK(books.missing({.name = "climate", .version = 2}) == ErrorCode::not_found);
}

TEST_CASE("versions count up, and the oldest beyond the limit goes") {
  Books books;
  const DataId first = books.put("climate");
  (void)books.put("climate");
  const DataDrops drops = books.publish(books.room("climate").value());
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == first);
  CHECK(drops.front().executor == first_holder);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->version == 3);
  CHECK(books.missing({.name = "climate", .version = 1}) == ErrorCode::not_found);
}

TEST_CASE("a version that calls are given stays until the last of them has ended") {
  Books books;
  const DataId used = books.put("climate");
  books.data.use(used);
  books.data.use(used);
  (void)books.put("climate");
  (void)books.put("climate");
  CHECK(books.publish(books.room("climate").value()).size() == 1);  // the second one
  CHECK((*books.data.find(anna, {.name = "climate", .version = 1}, books.now))->id == used);
  DataDrops drops;
  books.data.release(used, drops);
  CHECK(drops.empty());
  books.data.release(used, drops);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == used);
  CHECK(books.missing({.name = "climate", .version = 1}) == ErrorCode::not_found);
}

TEST_CASE("a version that a call is given can be deleted, and its call may end after that") {
  Books books;
  const DataId used = books.put("climate");
  books.data.use(used);
  REQUIRE(books.data.remove(anna, {.id = used}, {}, books.now).has_value());
  DataDrops drops;
  books.data.release(used, drops);
  CHECK(drops.empty());
}

TEST_CASE("a room that is given up gives its number back, and a version that was there does not") {
  Books books;
  (void)books.put("climate");
  const DataId given_up = books.room("climate").value();
  CHECK(books.data.abandon(given_up).size() == 1);
  const DataId second = books.put("climate");
  CHECK((*books.data.find(anna, {.id = second}, books.now))->version == 2);
  REQUIRE(books.data.remove(anna, {.id = second}, {}, books.now).has_value());
  (void)books.put("climate");
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->version == 3);
}

TEST_CASE("the one that was written for longest is not dropped when it comes last") {
  Books books;
  const DataId slow = books.room("climate").value();
  const DataId second = books.put("climate");
  books.now += seconds(1);
  (void)books.put("climate");
  books.now += seconds(1);
  const DataDrops drops = books.publish(slow);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == second);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->version == 1);
}

TEST_CASE("preconditions hold when the room is made and before it is sealed") {
  Books books;
  const DataId first = books.put("climate");
  CHECK(books.room("climate", 10, {.if_match = {}, .if_none_match = true}).error().code ==
        ErrorCode::conflict);
  CHECK(books.room("climate", 10, {.if_match = {to_string(make_data_id())}}).error().code ==
        ErrorCode::conflict);
  const DataId late = books.room("climate", 10, {.if_match = {to_string(first)}}).value();
  (void)books.put("climate");
  DataDrops drops;
  const auto may = books.data.begin_to_seal(late, drops);
  REQUIRE_FALSE(may.has_value());
  CHECK(may.error().code == ErrorCode::conflict);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == late);
}

TEST_CASE("while a version is sealed its precondition holds: others of the name wait") {
  Books books;
  const DataId first = books.put("climate");
  const Precondition is_first{.if_match = {to_string(first)}};
  const DataId chosen = books.room("climate", 10, is_first).value();
  const DataId beaten = books.room("climate", 10, is_first).value();
  const DataId other = books.room("weather").value();
  CHECK(books.begin_to_seal(chosen).value());
  CHECK(books.begin_to_seal(chosen).value());  // asked twice
  CHECK_FALSE(books.begin_to_seal(beaten).value());
  CHECK(books.begin_to_seal(other).value());
  CHECK(books.data.remove(anna, {.name = "climate"}, {}, books.now).error().code ==
        ErrorCode::conflict);
  SUBCASE("until it is there") {
    (void)books.publish(chosen);
    CHECK(books.begin_to_seal(beaten).error().code == ErrorCode::conflict);
    CHECK(books.data.remove(anna, {.name = "climate"}, {}, books.now).has_value());
  }
  SUBCASE("or given up") {
    CHECK(books.data.abandon(chosen).size() == 1);
    CHECK(books.begin_to_seal(beaten).value());
  }
}

TEST_CASE("what was sealed with nobody to hear of it is dropped when its executor is back") {
  Books books;
  (void)books.put("climate");
  const DataId unheard = books.room("climate").value();
  REQUIRE(books.begin_to_seal(unheard).value());
  DataHeld held{.data = unheard,
                .terms = {.tenant = {.uid = anna, .name = "anna"},
                          .bytes = ByteCount{10},
                          .name = "climate",
                          .version = 2,
                          .expires_in = {},
                          .secret = "s"},
                .order = books.data.room(unheard)->order};
  SUBCASE("after a short while") {}
  SUBCASE("after it was taken for gone") { books.data.executor_gone(first_holder); }
  const DataDrops drops =
      books.data.executor_joined({first_holder, "n1"}, std::vector{held}, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == unheard);
  CHECK(books.missing({.id = unheard}) == ErrorCode::not_found);
}

TEST_CASE("a tenant's quota counts rooms, and deleting makes room") {
  Books books({.versions = 2, .per_tenant = ByteCount{25}});
  const DataId first = books.put("a");
  const DataId second = books.room("b").value();
  const auto third = books.room("c");
  REQUIRE_FALSE(third.has_value());
  CHECK(third.error().code == ErrorCode::quota);
  (void)books.data.abandon(second);
  REQUIRE(books.data.remove(anna, {.id = first}, {}, books.now).has_value());
  CHECK(books.room("c", 25).has_value());
  CHECK(books.room("d", ~0ULL).error().code == ErrorCode::quota);
}

TEST_CASE("a lost object is named with the host where it was, and can be deleted") {
  Books books;
  (void)books.put("climate");
  books.data.executor_gone(first_holder);
  const auto lost = books.data.find(anna, {.name = "climate"}, books.now);
  REQUIRE_FALSE(lost.has_value());
  CHECK(lost.error().code == ErrorCode::data_lost);
  CHECK(lost.error().message.contains("climate@1"));
  CHECK(lost.error().message.contains("n1"));
  CHECK(books.data.used_by(anna).value == 0);
  const auto removed = books.data.remove(anna, {.name = "climate"}, {}, books.now);
  REQUIRE(removed.has_value());
  CHECK(removed->empty());
}

TEST_CASE("empty objects are counted as others are, also when nothing else is left") {
  Books books;
  const DataId first = books.put("a", 0);
  const DataId second = books.put("b", 0);
  const DataId third = books.put("c", 10);
  SUBCASE("they are lost together") { books.data.executor_gone(first_holder); }
  SUBCASE("they are lost one by one, after all that had bytes was removed") {
    REQUIRE(books.data.remove(anna, {.id = third}, {}, books.now).has_value());
    for (const DataId& id : {first, second}) books.data.dropped(first_holder, id, DataEnd::evicted);
  }
  SUBCASE("one is removed, and the other lost") {
    REQUIRE(books.data.remove(anna, {.id = first}, {}, books.now).has_value());
    books.data.executor_gone(first_holder);
  }
  CHECK(books.missing({.id = second}) == ErrorCode::data_lost);
  CHECK(books.data.used_by(anna).value == 0);
  REQUIRE(books.data.remove(anna, {.id = second}, {}, books.now).has_value());
  const DataId next = books.put("d", 0);
  CHECK(books.data.find(anna, {.id = next}, books.now).has_value());
}

TEST_CASE("an executor brings its objects back to a gateway that has never heard of them") {
  Books books;
  DataHeld held = climate_of_anna(4);
  held.created_ago = seconds(10);
  CHECK(books.data.executor_joined({first_holder, "n1"}, std::vector{held}, std::nullopt, books.now)
            .empty());
  const DataObject& object = **books.data.find(anna, {.name = "climate"}, books.now);
  CHECK(object.version == 4);
  CHECK(object.created == books.now - seconds(10));
  CHECK(books.data.used_at(first_holder).value == 7);
  CHECK(books.data.used_at(first_holder, anna).value == 7);
  CHECK(books.data.used_at(first_holder, ben).value == 0);
  (void)books.put("climate");
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->version == 5);
}

namespace {

DataHeld held_climate(std::uint64_t version, std::chrono::milliseconds created_ago,
                      DataId id = make_data_id()) {
  return {.data = id,
          .terms = {.tenant = {.uid = anna, .name = "anna"},
                    .bytes = ByteCount{10},
                    .name = "climate",
                    .version = version,
                    .expires_in = {},
                    .secret = "s"},
          .created_ago = created_ago};
}

}  // namespace

TEST_CASE("older versions with larger numbers neither hide nor drop what was made meanwhile") {
  Books books({.versions = 3});
  const DataId fresh = books.put("climate");
  const std::vector held{held_climate(5, seconds(30)), held_climate(6, seconds(20)),
                         held_climate(7, seconds(10))};
  const DataDrops drops =
      books.data.executor_joined({second_holder, "n2"}, held, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == held.front().data);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == fresh);
  books.now += seconds(1);
  const DataId next = books.put("climate");
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == next);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->version == 8);
}

TEST_CASE("the newest is the one that was sealed last, whatever the executors' clocks say") {
  Books books;
  DataHeld written_first = held_climate(1, seconds(5));
  DataHeld written_last = held_climate(2, seconds(10));  // its hello was on the way for longer
  written_first.order = 1;
  written_last.order = 2;
  (void)books.data.executor_joined({first_holder, "n1"}, std::vector{written_last}, std::nullopt,
                                   books.now);
  (void)books.data.executor_joined({second_holder, "n2"}, std::vector{written_first}, std::nullopt,
                                   books.now);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == written_last.data);
  const DataId next = books.put("climate");
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == next);
}

TEST_CASE("what a gateway has sealed is newer than what those before it had, and what came back") {
  Books before({.versions = 3}, 1);
  Books after({.versions = 3}, 2);
  DataHeld held = held_climate(9, seconds(0));
  const DataId old = before.put("climate");
  held.order = (*before.data.find(anna, {.id = old}, before.now))->order;
  const DataId fresh = after.put("climate");
  (void)after.data.executor_joined({second_holder, "n2"}, std::vector{held}, std::nullopt,
                                   after.now);
  CHECK((*after.data.find(anna, {.name = "climate"}, after.now))->id == fresh);
  // From another state directory, with many more starts.
  DataHeld strange = held_climate(11, seconds(0));
  strange.order = ~0ULL >> 2U;
  (void)after.data.executor_joined({ExecutorId("e3"), "n3"}, std::vector{strange}, std::nullopt,
                                   after.now);
  const DataId next = after.put("climate");
  CHECK((*after.data.find(anna, {.name = "climate"}, after.now))->id == next);
}

TEST_CASE("of two with the same version the newer one has the name, whoever comes first") {
  Books books;
  const DataHeld old = held_climate(1, seconds(10));
  const DataHeld fresh = held_climate(1, seconds(5));
  (void)books.data.executor_joined({first_holder, "n1"}, std::vector{old}, std::nullopt, books.now);
  (void)books.data.executor_joined({second_holder, "n2"}, std::vector{fresh}, std::nullopt,
                                   books.now);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == fresh.data);
  CHECK((*books.data.find(anna, {.id = old.data}, books.now))->name.empty());
  books.now += std::chrono::hours(2);  // it is there for a while
  CHECK(books.missing({.id = old.data}) == ErrorCode::not_found);
  CHECK(books.data.expire(books.now).size() == 1);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == fresh.data);
}

TEST_CASE("what was removed does not come back with an executor that was taken for gone") {
  Books books;
  const DataId removed_before = books.put("climate");
  const DataId removed_after = books.put("climate");
  REQUIRE(books.data.remove(anna, {.id = removed_before}, {}, books.now).has_value());
  books.data.executor_gone(first_holder);
  REQUIRE(books.data.remove(anna, {.id = removed_after}, {}, books.now).has_value());
  const std::vector held{held_climate(1, seconds(10), removed_before),
                         held_climate(2, seconds(5), removed_after)};
  const DataDrops drops =
      books.data.executor_joined({first_holder, "n1"}, held, std::nullopt, books.now);
  CHECK(drops.size() == 2);
  CHECK(books.missing({.name = "climate"}) == ErrorCode::not_found);
  CHECK(books.missing({.id = removed_after}) == ErrorCode::not_found);
}

TEST_CASE("what was removed does not come back with an executor that was not there before") {
  Books books;
  const DataHeld held = held_climate(1, seconds(10));
  // The gateway has begun anew; of the two that have it only one is back.
  (void)books.data.executor_joined({first_holder, "n1"}, std::vector{held}, std::nullopt,
                                   books.now);
  REQUIRE(books.data.remove(anna, {.id = held.data}, {}, books.now).has_value());
  books.data.dropped(first_holder, held.data, DataEnd::deleted);
  const DataDrops drops =
      books.data.executor_joined({second_holder, "n2"}, std::vector{held}, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().executor == second_holder);
  CHECK(books.missing({.id = held.data}) == ErrorCode::not_found);
}

TEST_CASE("a copy that is given up where its executor is taken for gone does not end the others") {
  Books books;
  const DataId id = books.put("climate");
  REQUIRE(books.data.begin_copy(id, {second_holder, "n2"}).has_value());
  REQUIRE(books.data.give_up_copy(id, second_holder).size() == 1);
  books.data.executor_gone(second_holder);
  const std::vector held{held_climate(1, seconds(10), id)};
  CHECK(books.data.executor_joined({first_holder, "n1"}, held, std::nullopt, books.now).empty());
  CHECK((*books.data.find(anna, {.id = id}, books.now))->holders.size() == 1);
  // Once it is removed, it is so there, too.
  REQUIRE(books.data.remove(anna, {.id = id}, {}, books.now).has_value());
  CHECK(books.data.executor_joined({second_holder, "n2"}, held, std::nullopt, books.now).size() ==
        1);
}

TEST_CASE("of what was removed from executors that are gone the last ones are remembered") {
  Books books({.versions = 9, .removed_away = 1});
  const DataId first = books.put("climate");
  const DataId second = books.put("climate");
  books.data.executor_gone(first_holder);
  for (const DataId& id : {first, second})
    REQUIRE(books.data.remove(anna, {.id = id}, {}, books.now).has_value());
  const std::vector held{held_climate(1, seconds(10), first), held_climate(2, seconds(5), second)};
  const DataDrops drops =
      books.data.executor_joined({first_holder, "n1"}, held, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == second);
}

TEST_CASE("one tenant's removed objects do not make another's forgotten") {
  Books books({.versions = 9, .removed_away = 1});
  const DataId bens = make_data_id();
  DataHeld held = held_climate(1, seconds(10), bens);
  held.terms.tenant = {.uid = ben, .name = "ben"};
  (void)books.data.executor_joined({second_holder, "n2"}, std::vector{held}, std::nullopt,
                                   books.now);
  books.data.executor_gone(second_holder);
  REQUIRE(books.data.remove(ben, {.id = bens}, {}, books.now).has_value());
  for (int i = 0; i < 3; ++i) (void)books.put("climate");
  books.data.executor_gone(first_holder);
  REQUIRE(books.data.remove(anna, {.name = "climate"}, {}, books.now).has_value());
  // Somebody goes by the name of its executor and tells nothing.
  CHECK(books.data.executor_joined({second_holder, "n2"}, {}, std::nullopt, books.now).empty());
  const DataDrops drops =
      books.data.executor_joined({second_holder, "n2"}, std::vector{held}, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == bens);
}

TEST_CASE("a room gives way to a version that comes back with its number") {
  Books books;
  const DataId room = books.room("climate").value();
  const DataHeld held = held_climate(1, seconds(10));
  const DataDrops drops =
      books.data.executor_joined({second_holder, "n2"}, std::vector{held}, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == room);
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->id == held.data);
  CHECK(books.begin_to_seal(room).error().code == ErrorCode::not_found);
}

TEST_CASE("an executor of one user cannot bring objects of others") {
  Books books;
  const DataHeld held = climate_of_anna(1);
  (void)books.data.executor_joined({first_holder, "n1"}, std::vector{held}, ben, books.now);
  CHECK(books.missing({.name = "climate"}) == ErrorCode::not_found);
}

TEST_CASE("what was deleted while its executor was away is dropped when that is back") {
  Books books;
  const DataId id = books.put("climate");
  const DataObject before = **books.data.find(anna, {.id = id}, books.now);
  REQUIRE(books.data.remove(anna, {.id = id}, {}, books.now).has_value());
  const DataHeld held{.data = id,
                      .terms = {.tenant = before.tenant,
                                .bytes = before.bytes,
                                .name = before.name,
                                .version = before.version,
                                .expires_in = {},
                                .secret = before.secret}};
  const DataDrops drops =
      books.data.executor_joined({first_holder, "n1"}, std::vector{held}, std::nullopt, books.now);
  REQUIRE(drops.size() == 1);
  CHECK(drops.front().data == id);
  CHECK(books.missing({.name = "climate"}) == ErrorCode::not_found);
  books.data.dropped(first_holder, id, DataEnd::deleted);
  CHECK(books.data.executors().empty());
}

TEST_CASE("two executors with the same version of a name: the second one's is found by its id") {
  Books books;
  (void)books.put("climate");
  const DataHeld held = climate_of_anna(1);
  (void)books.data.executor_joined({second_holder, "n2"}, std::vector{held}, std::nullopt,
                                   books.now);
  CHECK((*books.data.find(anna, {.id = held.data}, books.now))->name.empty());
  CHECK((*books.data.find(anna, {.name = "climate"}, books.now))->bytes.value == 10);
}

TEST_CASE("time runs from the end of writing, and what has expired is found by nobody") {
  Books books;
  const DataId id = books.room("climate", 10, {}, seconds(60)).value();
  books.now += seconds(50);  // it is written slowly
  (void)books.publish(id);
  books.now += seconds(59);
  CHECK(books.data.find(anna, {.id = id}, books.now).has_value());
  books.now += seconds(1);
  CHECK(books.missing({.id = id}) == ErrorCode::not_found);
  const DataDrops drops = books.data.expire(books.now);
  REQUIRE(drops.size() == 1);
  CHECK(books.data.count(DataState::sealed) == 0);
}

TEST_CASE("a room of an executor that begins anew is gone when it is to be published") {
  Books books;
  const DataId id = books.room("climate").value();
  (void)books.data.executor_joined({first_holder, "n1"}, {}, std::nullopt, books.now);
  DataDrops drops;
  CHECK(books.data.publish(id, drops, books.now).error().code == ErrorCode::not_found);
  CHECK(books.data.used_by(anna).value == 0);
}

TEST_CASE("references to data objects are names, versions and ids") {
  CHECK(parse_data_reference("climate")->name == "climate");
  CHECK(parse_data_reference("climate@3")->version == 3);
  const DataId id = make_data_id();
  CHECK(parse_data_reference(to_string(id))->id == id);
  for (const char* wrong : {"", "@3", "climate@", "climate@0", "climate@x", "climate@1@2", "3d",
                            "cli mate", "climate@99999999999999999999"})
    CHECK_MESSAGE(parse_data_reference(wrong).error().code == ErrorCode::bad_request, wrong);
  CHECK_FALSE(check_data_name(to_string(id)).has_value());
}

TEST_CASE("Orchid-Data names 1 to 64 objects") {
  const auto list = parse_data_list(" climate ,grid@2,, " + to_string(make_data_id()));
  REQUIRE(list.has_value());
  CHECK(list->size() == 3);
  CHECK(to_string((*list)[1]) == "grid@2");
  CHECK_FALSE(parse_data_list(" , ").has_value());
  std::string many;
  for (int i = 0; i < 65; ++i) many += "x,";
  CHECK_FALSE(parse_data_list(many).has_value());
}

}  // namespace orchid::gateway
