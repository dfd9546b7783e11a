#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "data_book_parts.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

DataBook book_with_disk(std::uint64_t budget, std::uint64_t disk, std::uint64_t per_tenant = 0) {
  return DataBook({.budget = ByteCount{budget},
                   .per_tenant = ByteCount{per_tenant == 0 ? budget : per_tenant},
                   .disk = ByteCount{disk}});
}

void spill(DataBook& book, const DataId& data) {
  static_cast<void>(book.begin_spill(data));
  REQUIRE(book.end_spill(data, true));
}

TEST_CASE("what was used longest ago goes to disk first, with a name or without") {
  DataBook book = book_with_disk(100, 1000);
  const DataId named = sealed_in(book, room_request(40, "name"), book_start);
  const DataId unnamed = sealed_in(book, room_request(40), book_start + 1s);
  CHECK(book.fits({ada, 20_B}));
  CHECK(book.next_to_spill({ada, 20_B}) == std::nullopt);
  CHECK(book.next_to_spill({ada, 21_B}) == named);
  REQUIRE(book.pin(named, ada, book_start + 2s).has_value());
  CHECK(book.next_to_spill({ada, 21_B}) == unnamed);
  CHECK(book.next_to_spill({ada, 61_B}) == std::nullopt);  // what is in use stays
  spill(book, unnamed);
  CHECK(book.used() == 40_B);
  CHECK(book.on_disk() == 40_B);
  CHECK(book.make(room_request(60), book_start + 3s) == std::vector<DataId>{});
  CHECK(book.held(book_start + 3s).size() == 2);  // the gateway is told of both
}

TEST_CASE("nobody is given what is on disk before it is back") {
  DataBook book = book_with_disk(100, 100);
  const MakeData made = room_request(60, "name");
  const DataId data = sealed_in(book, made, book_start);
  spill(book, data);
  CHECK(code_of_book(book.pin(data, ada, book_start)) == ErrorCode::no_capacity);
  CHECK(code_of_book(book.pin_for_copy(data, book_start)) == ErrorCode::no_capacity);
  const LaneOpenData reader{data, made.terms.secret, DataAccess::read};
  CHECK(code_of_book(book.open(reader, ada, book_start)) == ErrorCode::no_capacity);
  CHECK(code_of_book(book.open(reader, eve, book_start)) == ErrorCode::denied);
  CHECK(book.may_open(reader, ada));
  CHECK_FALSE(book.may_open(reader, eve));

  REQUIRE(book.begin_return(data, book_start).has_value());
  CHECK(book.used() == 60_B);
  CHECK(code_of_book(book.pin(data, ada, book_start)) == ErrorCode::no_capacity);
  CHECK_FALSE(book.end_return(data, false));  // it could not be read
  CHECK(book.used() == 0_B);
  CHECK(book.is_on_disk(data));
  REQUIRE(book.begin_return(data, book_start).has_value());
  CHECK(book.end_return(data, true));
  CHECK(book.on_disk() == 0_B);
  CHECK(book.open(reader, ada, book_start) == 60_B);
}

TEST_CASE("what is used, or dropped, while it is written to disk is not there") {
  DataBook book = book_with_disk(100, 100);
  const DataId used = sealed_in(book, room_request(60, "name"), book_start);
  static_cast<void>(book.begin_spill(used));
  CHECK(book.on_disk() == 60_B);
  REQUIRE(book.pin(used, ada, book_start).has_value());
  CHECK_FALSE(book.end_spill(used, true));
  CHECK(book.on_disk() == 0_B);
  CHECK(book.used() == 60_B);
  book.unpin(used);
  static_cast<void>(book.begin_spill(used));
  CHECK_FALSE(book.end_spill(used, false));  // the disk is full
  CHECK_FALSE(book.is_on_disk(used));
  static_cast<void>(book.begin_spill(used));
  CHECK(book.drop(used));
  CHECK(book.on_disk() == 0_B);
  CHECK(book.used() == 60_B);  // whoever writes it has it open
  CHECK_FALSE(book.end_spill(used, true));
  CHECK(book.used() == 0_B);
}

TEST_CASE("what is dropped on its way back is charged until it has come") {
  DataBook book = book_with_disk(100, 100);
  const DataId data = sealed_in(book, room_request(60, "name"), book_start);
  spill(book, data);
  REQUIRE(book.begin_return(data, book_start).has_value());
  CHECK(book.drop(data));
  CHECK(book.on_disk() == 0_B);
  CHECK(book.used() == 60_B);
  CHECK_FALSE(book.end_return(data, true));
  CHECK(book.used() == 0_B);
}

TEST_CASE("of the disk a tenant has the same part as of the memory") {
  DataBook book = book_with_disk(100, 100, 50);
  const DataId first = sealed_in(book, room_request(50, "first"), book_start);
  CHECK(book.next_to_spill({ada, 10_B}) == first);
  spill(book, first);
  const DataId second = sealed_in(book, room_request(50, "second"), book_start);
  CHECK(book.next_to_spill({ada, 10_B}) == std::nullopt);  // hers is used up
  CHECK(book.drop(first));
  CHECK(book.next_to_spill({ada, 10_B}) == second);
  // Another one's room is not made of hers, when it is the other who has too much.
  sealed_in(book, room_request(50, "theirs", eve), book_start + 1s);
  CHECK(book.next_to_spill({eve, 10_B}) != second);
}

TEST_CASE("a full disk leaves it at what can be evicted, also for what is to come back") {
  DataBook book = book_with_disk(100, 60);
  const DataId away = sealed_in(book, room_request(60, "away"), book_start);
  spill(book, away);
  const DataId unnamed = sealed_in(book, room_request(60), book_start);
  CHECK(book.next_to_spill({ada, 60_B}) == std::nullopt);
  CHECK(book.begin_return(away, book_start + 1s) == std::vector{unnamed});
  CHECK(book.end_return(away, true));
  spill(book, away);
  sealed_in(book, room_request(60, "named"), book_start);
  CHECK(code_of_book(book.begin_return(away, book_start + 1s)) == ErrorCode::no_data_memory);
  CHECK(book.is_on_disk(away));
  CHECK(book.used() == 60_B);
}

TEST_CASE("what is on disk has its place among so many objects, and can lose it") {
  DataBook book({.budget = 100_B, .per_tenant = 100_B, .most_objects = 2, .disk = 100_B});
  const DataId away = sealed_in(book, room_request(50), book_start);
  spill(book, away);
  sealed_in(book, room_request(50, "named"), book_start);
  CHECK(book.make(room_request(10), book_start) == std::vector{away});
  CHECK(book.on_disk() == 0_B);
}

}  // namespace
}  // namespace orchid::executor
