#include "data/data_book.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "data_book_parts.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

TEST_CASE("an object is charged whole when it is made, and never over the budget") {
  DataBook book = book_of(100);
  const MakeData first = room_request(60, "first");
  CHECK(book.make(first, book_start).has_value());
  CHECK(book.used() == 60_B);
  CHECK(book.make(first, book_start).has_value());  // the same command once more
  CHECK(book.used() == 60_B);
  const auto refused = book.make(room_request(41), book_start);
  CHECK(code_of_book(refused) == ErrorCode::no_data_memory);
  CHECK(refused.error().message.find("60 B are taken") != std::string::npos);
  CHECK(refused.error().message.find("--data-memory") != std::string::npos);
  CHECK(book.make(room_request(40), book_start).has_value());
  CHECK(book.make(room_request(0), book_start).has_value());
  CHECK(book.used() == 100_B);
  CHECK(book.drop(first.data));
  CHECK_FALSE(book.drop(first.data));
  CHECK(book.used() == 40_B);
  CHECK(book.used_by(ada) == 40_B);
}

TEST_CASE("an id belongs to one object") {
  DataBook book = book_of(100);
  MakeData made = room_request(10, "name");
  REQUIRE(book.make(made, book_start).has_value());
  MakeData other = made;
  other.terms.bytes = 11_B;
  CHECK(code_of_book(book.make(other, book_start)) == ErrorCode::conflict);
  REQUIRE(book.seal(made.data, book_start).has_value());
  CHECK(code_of_book(book.make(made, book_start)) == ErrorCode::conflict);
}

TEST_CASE("unnamed sealed objects that nobody has mapped go, the one used longest ago first") {
  DataBook book = book_of(100);
  const DataId named = sealed_in(book, room_request(20, "name"), book_start);
  const DataId oldest = sealed_in(book, room_request(20), book_start + 1s);
  const DataId used = sealed_in(book, room_request(20), book_start + 2s);
  const DataId mapped = sealed_in(book, room_request(20), book_start);
  const MakeData room = room_request(20);
  REQUIRE(book.make(room, book_start).has_value());
  REQUIRE(book.pin(mapped, ada, book_start).has_value());
  REQUIRE(
      book.open({used, std::string(64, 'a'), DataAccess::read}, ada, book_start + 9s).has_value());

  CHECK(code_of_book(book.make(room_request(21), book_start + 10s)) == ErrorCode::no_data_memory);
  book.stop_reading(used);
  CHECK(code_of_book(book.make(room_request(41), book_start + 10s)) == ErrorCode::no_data_memory);
  CHECK(book.contains(oldest));  // nothing goes for what does not fit anyway
  CHECK(book.make(room_request(20), book_start + 10s) == std::vector{oldest});
  CHECK(book.make(room_request(1), book_start + 10s) == std::vector{used});
  CHECK(book.contains(named));
  CHECK(book.contains(mapped));
  CHECK(book.contains(room.data));
  book.unpin(mapped);
  CHECK(book.make(room_request(30), book_start + 11s) == std::vector{mapped});
}

TEST_CASE("who has too much loses its own, and nobody else's") {
  DataBook book = book_of(100, 50);
  const DataId hers = sealed_in(book, room_request(30), book_start);
  const DataId theirs = sealed_in(book, room_request(30, "", eve), book_start - 1s);
  CHECK(book.make(room_request(40), book_start) == std::vector{hers});
  const auto refused = book.make(room_request(11, "name"), book_start);
  CHECK(code_of_book(refused) == ErrorCode::quota);
  CHECK(refused.error().message.find("50 B") != std::string::npos);
  CHECK(book.used_by(ada) == 40_B);
  CHECK(book.used_by(eve) == 30_B);
  CHECK(book.contains(theirs));
}

TEST_CASE("bytes are for who knows the secret, and is the tenant, root or the holder") {
  DataBook book = book_of(100);
  MakeData made = room_request(10, "name");
  made.terms.holder_uid = 990;
  REQUIRE(book.make(made, book_start).has_value());
  const auto open = [&](DataAccess access, std::uint32_t uid, char secret = 'a') {
    return book.open({made.data, std::string(64, secret), access}, uid, book_start);
  };
  CHECK(code_of_book(open(DataAccess::write, eve)) == ErrorCode::denied);
  CHECK(code_of_book(open(DataAccess::write, ada, 'b')) == ErrorCode::denied);
  CHECK(code_of_book(book.open({make_data_id(), std::string(64, 'a'), DataAccess::read}, ada,
                               book_start)) == ErrorCode::denied);
  CHECK(code_of_book(open(DataAccess::read, ada)) == ErrorCode::conflict);
  CHECK(open(DataAccess::write, 990) == 10_B);
  CHECK(code_of_book(open(DataAccess::write, 990)) == ErrorCode::conflict);  // one writer
  REQUIRE(book.seal(made.data, book_start).has_value());
  CHECK(book.seal(made.data, book_start) == 10_B);  // sealed twice
  for (const std::uint32_t uid : {ada, 0U, 990U}) CHECK(open(DataAccess::read, uid) == 10_B);
  CHECK(code_of_book(open(DataAccess::write, ada)) == ErrorCode::conflict);
  CHECK(code_of_book(open(DataAccess::read, eve)) == ErrorCode::denied);
}

TEST_CASE("only a worker of the tenant is given an object, and only a sealed one") {
  DataBook book = book_of(100);
  const MakeData made = room_request(10);
  REQUIRE(book.make(made, book_start).has_value());
  CHECK(code_of_book(book.pin(made.data, ada, book_start)) == ErrorCode::data_lost);
  REQUIRE(book.seal(made.data, book_start).has_value());
  CHECK(code_of_book(book.pin(made.data, eve, book_start)) == ErrorCode::denied);
  CHECK(code_of_book(book.pin(make_data_id(), ada, book_start)) == ErrorCode::data_lost);
  CHECK(book.pin(made.data, ada, book_start) == 10_B);
}

TEST_CASE("what is dropped while workers have it mapped is charged until they are rid of it") {
  DataBook book = book_of(100);
  const MakeData made = room_request(60, "name");
  const DataId data = sealed_in(book, made, book_start);
  REQUIRE(book.pin(data, ada, book_start).has_value());
  REQUIRE(book.pin(data, ada, book_start).has_value());
  CHECK(book.drop(data));
  CHECK(code_of_book(book.pin(data, ada, book_start)) == ErrorCode::data_lost);
  CHECK(code_of_book(book.make(made, book_start)) == ErrorCode::conflict);
  CHECK(book.held(book_start).empty());
  book.unpin(data);
  CHECK(book.used() == 60_B);
  CHECK(code_of_book(book.make(room_request(41), book_start)) == ErrorCode::no_data_memory);
  book.unpin(data);
  CHECK(book.used() == 0_B);
  CHECK(book.make(room_request(100), book_start).has_value());
}

TEST_CASE("what is dropped while it is read is charged until the last reader has gone") {
  DataBook book = book_of(100);
  const DataId data = sealed_in(book, room_request(60), book_start);
  const auto read = [&] {
    return book.open({data, std::string(64, 'a'), DataAccess::read}, ada, book_start);
  };
  CHECK(read() == 60_B);
  CHECK(read() == 60_B);
  REQUIRE(book.pin(data, ada, book_start).has_value());
  const auto refused = book.make(room_request(41), book_start);  // it is not evicted, either
  CHECK(code_of_book(refused) == ErrorCode::no_data_memory);
  CHECK(refused.error().message.find("60 B of it mapped by workers or being read") !=
        std::string::npos);
  book.stop_reading(data);
  CHECK(book.drop(data));
  CHECK(code_of_book(read()) == ErrorCode::denied);
  book.unpin(data);
  CHECK(book.used() == 60_B);
  CHECK(book.used_by(ada) == 60_B);
  book.stop_reading(data);
  CHECK(book.used() == 0_B);
}

TEST_CASE("so many read a tenant's objects at once, and no more; others are not hindered") {
  DataBook book({.budget = 100_B, .per_tenant = 100_B, .most_readers = 3});
  const DataId first = sealed_in(book, room_request(10), book_start);
  const DataId second = sealed_in(book, room_request(10), book_start);
  const DataId theirs = sealed_in(book, room_request(10, "", eve), book_start);
  const auto read = [&](const DataId& data, std::uint32_t uid) {
    return book.open({data, std::string(64, 'a'), DataAccess::read}, uid, book_start);
  };
  REQUIRE(read(first, ada).has_value());
  REQUIRE(read(first, 0).has_value());
  REQUIRE(read(second, ada).has_value());
  const auto refused = read(second, ada);
  CHECK(code_of_book(refused) == ErrorCode::no_capacity);
  CHECK(refused.error().message.find("try again when some have finished") != std::string::npos);
  CHECK(read(theirs, eve).has_value());
  CHECK(book.drop(first));
  CHECK_FALSE(read(second, ada).has_value());  // they read on
  book.stop_reading(first);
  CHECK(read(second, ada).has_value());
}

TEST_CASE("a room that nobody seals ends, and an object whose time is over") {
  DataBook book = book_of(100);
  const MakeData room = room_request(10, "room");
  REQUIRE(book.make(room, book_start).has_value());
  MakeData brief = room_request(10, "brief");
  brief.terms.expires_in = 60s;
  sealed_in(book, brief, book_start);
  MakeData lasting = room_request(10, "lasting");
  lasting.terms.expires_in = std::chrono::hours(24) * 365'000;
  sealed_in(book, lasting, book_start);
  const MakeData written = room_request(10, "written");
  REQUIRE(book.make(written, book_start).has_value());
  book.begin_to_seal({written.data}, book_start);  // which takes its time
  CHECK(code_of_book(book.open({written.data, std::string(64, 'a'), DataAccess::write}, ada,
                               book_start)) == ErrorCode::conflict);
  CHECK(book.end_overdue(book_start + 9s).empty());
  const auto unfinished = book.end_overdue(book_start + 10s);
  REQUIRE(unfinished.size() == 1);
  CHECK(unfinished[0].data == room.data);
  CHECK(unfinished[0].reason == DataEnd::unfinished);
  CHECK(book.end_overdue(book_start + 59s).empty());
  const auto expired = book.end_overdue(book_start + 60s);
  REQUIRE(expired.size() == 1);
  CHECK(expired[0].data == brief.data);
  CHECK(expired[0].reason == DataEnd::expired);
  CHECK(book.end_overdue(book_start + std::chrono::hours(24 * 365)).empty());
  CHECK(book.used() == 20_B);
}

TEST_CASE("the time that its writer takes is not taken from an object's life") {
  DataBook book = book_of(100);
  MakeData made = room_request(10);
  made.terms.expires_in = 70s;  // 60, and what the writer may take
  REQUIRE(book.make(made, book_start).has_value());
  book.begin_to_seal({made.data, 60s, 5}, book_start + 2s);
  book.begin_to_seal({made.data, 60s, 6}, book_start + 9s);  // told twice
  REQUIRE(book.seal(made.data, book_start + 3s).has_value());
  const auto held = book.held(book_start + 22s);
  REQUIRE(held.size() == 1);
  CHECK(held[0].terms.expires_in == 40s);
  CHECK(held[0].order == 5);
  REQUIRE(book.seal(made.data, book_start + 22s).has_value());  // told twice
  CHECK(book.held(book_start + 23s).at(0).created_ago == 20s);
  CHECK(book.end_overdue(book_start + 61s).empty());
  CHECK(book.end_overdue(book_start + 62s).size() == 1);
}

TEST_CASE("a gateway that starts anew hears of what is sealed, and rooms are gone") {
  DataBook book = book_of(100);
  MakeData made = room_request(10, "name");
  made.terms.version = 3;
  made.terms.expires_in = 60s;
  sealed_in(book, made, book_start);
  const MakeData room = room_request(10);
  REQUIRE(book.make(room, book_start).has_value());
  const MakeData since = room_request(10);  // sealed when the hello was on its way
  sealed_in(book, since, book_start + 20s);
  const auto dropped = book.keep_only({made.data});
  CHECK(std::set(dropped.begin(), dropped.end()) == std::set{room.data, since.data});
  const auto held = book.held(book_start + 20s);
  REQUIRE(held.size() == 1);
  CHECK(held[0].data == made.data);
  CHECK(held[0].created_ago == 20s);
  CHECK(held[0].terms.expires_in == 40s);
  made.terms.expires_in = 40s;
  CHECK(held[0].terms == made.terms);
  CHECK(book.drop_all() == std::vector{made.data});
  CHECK(book.used() == 0_B);
}

TEST_CASE("an executor has so many objects, and no more") {
  DataBook book({.budget = 1_GiB, .per_tenant = 1_GiB, .most_objects = 2});
  REQUIRE(book.make(room_request(0), book_start).has_value());
  const MakeData second = room_request(0);
  REQUIRE(book.make(second, book_start).has_value());
  CHECK(code_of_book(book.make(room_request(0), book_start)) == ErrorCode::no_data_memory);
  CHECK(book.drop(second.data));
  CHECK(book.make(room_request(0), book_start).has_value());
}

TEST_CASE("the object used longest ago gives up its place, also an empty one") {
  DataBook book({.budget = 100_B, .per_tenant = 100_B, .most_objects = 3});
  const DataId named = sealed_in(book, room_request(0, "name"), book_start);
  const DataId oldest = sealed_in(book, room_request(0), book_start + 1s);
  const DataId next = sealed_in(book, room_request(60), book_start + 2s);
  CHECK(book.make(room_request(40), book_start + 3s) == std::vector{oldest});
  // One that gives its place and its bytes is enough.
  CHECK(book.make(room_request(60), book_start + 3s) == std::vector{next});
  const auto refused = book.make(room_request(0), book_start + 4s);  // rooms stay
  CHECK(code_of_book(refused) == ErrorCode::no_data_memory);
  CHECK(refused.error().message.find("has 3 data objects") != std::string::npos);
  CHECK(book.contains(named));
}

TEST_CASE("nobody alone takes the places of all") {
  DataBook book({.budget = 1_GiB, .per_tenant = 1_GiB, .most_objects = 100, .most_per_tenant = 25});
  std::vector<DataId> hers;
  for (unsigned i = 0; i < 25; ++i)
    hers.push_back(sealed_in(book, room_request(0, "name"), book_start));
  const auto refused = book.make(room_request(0), book_start);
  CHECK(code_of_book(refused) == ErrorCode::quota);
  CHECK(refused.error().message.find("may have 25 data objects") != std::string::npos);
  const DataId theirs = sealed_in(book, room_request(0, "", eve), book_start);
  // What is dropped and still mapped has its place, too.
  REQUIRE(book.pin(hers[0], ada, book_start).has_value());
  CHECK(book.drop(hers[0]));
  CHECK(code_of_book(book.make(room_request(0), book_start)) == ErrorCode::quota);
  book.unpin(hers[0]);
  const DataId unnamed = sealed_in(book, room_request(0), book_start);
  CHECK(book.make(room_request(0), book_start) == std::vector{unnamed});  // her own, not theirs
  CHECK(book.contains(theirs));
}

TEST_CASE("memory of a lease is charged until its pages are given back") {
  DataBook book = book_of(100);
  const MakeData leased = room_request(60);
  REQUIRE(book.make(leased, book_start).has_value());
  book.keep_for_lease(leased.data);
  CHECK(book.end_overdue(book_start + 24h).empty());
  CHECK(book.drop_slowly(leased.data));
  CHECK(book.used() == 60_B);
  book.unpin(leased.data);
  CHECK(book.used() == 0_B);
}

TEST_CASE("nothing is evicted for a copy") {
  DataBook book = book_of(100);
  const DataId only = sealed_in(book, room_request(60), book_start);
  MakeData copy = room_request(60);
  copy.created_ago = 1s;
  CHECK(code_of_book(book.make(copy, book_start)) == ErrorCode::no_data_memory);
  CHECK(book.contains(only));
  CHECK(book.drop_unless_used(only));
  CHECK(book.make(copy, book_start).has_value());
}

TEST_CASE("a copy is as old as the object, and its room is no client's") {
  DataBook book = book_of(100);
  MakeData copy = room_request(60, "climate");
  copy.terms.copies = 2;
  copy.created_ago = 5min;
  REQUIRE(book.make(copy, book_start).has_value());
  CHECK(book.open_for_copy(copy.data) == 60_B);
  book.unpin(copy.data);
  CHECK(book.open_for_copy(copy.data) == 60_B);  // another sender goes on
  book.unpin(copy.data);
  const auto opened = book.open({copy.data, copy.terms.secret, DataAccess::write}, ada, book_start);
  CHECK(code_of_book(opened) == ErrorCode::conflict);
  CHECK(code_of_book(book.pin_for_copy(copy.data, book_start)) == ErrorCode::data_lost);
  REQUIRE(book.seal(copy.data, book_start + 1s).has_value());
  CHECK(code_of_book(book.open_for_copy(copy.data)) == ErrorCode::conflict);
  const auto held = book.held(book_start + 1s);
  REQUIRE(held.size() == 1);
  CHECK(held.front().created_ago == 5min + 1s);
  CHECK(held.front().terms.copies == 2);
  book.want_copies(copy.data, 3);
  CHECK(book.held(book_start).front().terms.copies == 3);
}

TEST_CASE("a copy that is not needed goes when nobody uses it") {
  DataBook book = book_of(100);
  const DataId spare = sealed_in(book, room_request(60, "climate"), book_start);
  REQUIRE(book.pin(spare, ada, book_start).has_value());
  CHECK_FALSE(book.drop_unless_used(spare));
  book.unpin(spare);
  CHECK(book.drop_unless_used(spare));
  CHECK_FALSE(book.drop_unless_used(spare));
  CHECK(book.used() == 0_B);
  const MakeData room = room_request(10);
  REQUIRE(book.make(room, book_start).has_value());
  CHECK_FALSE(book.drop_unless_used(room.data));
}

TEST_CASE("what is being sent elsewhere is not evicted, and is charged until that is over") {
  DataBook book = book_of(100);
  const DataId sent = sealed_in(book, room_request(60), book_start);
  CHECK(book.pin_for_copy(sent, book_start) == 60_B);
  CHECK(code_of_book(book.make(room_request(60), book_start)) == ErrorCode::no_data_memory);
  CHECK(book.drop(sent));
  CHECK(book.used() == 60_B);
  book.unpin(sent);
  CHECK(book.used() == 0_B);
  const MakeData room = room_request(10);
  REQUIRE(book.make(room, book_start).has_value());
  CHECK(code_of_book(book.open_for_copy(room.data)) == ErrorCode::conflict);
  CHECK(code_of_book(book.open_for_copy(make_data_id())) == ErrorCode::not_found);
}

}  // namespace
}  // namespace orchid::executor
