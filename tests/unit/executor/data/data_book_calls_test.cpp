// What calls make, in the book.
#include <algorithm>
#include <vector>

#include "data_book_parts.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

TEST_CASE("what a call makes is told of and evicted only when it was published") {
  DataBook book = book_of(100);
  const MakeData made = room_request(60);
  REQUIRE(book.make_in_call(made, 7, book_start).has_value());
  CHECK(book.used() == 60_B);
  CHECK(code_of_book(book.check_seal_in_call(made.data, 8, 10_B)) == ErrorCode::not_found);
  CHECK(code_of_book(book.check_seal_in_call(made.data, 7, 61_B)) == ErrorCode::too_large);
  CHECK_FALSE(book.has_for(made.data, ada, 7));
  CHECK(book.end_overdue(book_start + 24h).empty());  // its call may last
  REQUIRE(book.check_seal_in_call(made.data, 7, 20_B).has_value());
  book.seal_in_call(made.data, 20_B, "", book_start);
  CHECK(book.used() == 20_B);
  CHECK(book.has_for(made.data, ada, 7));
  CHECK_FALSE(book.has_for(made.data, eve, 7));
  // To others it is not there yet.
  CHECK_FALSE(book.has_for(made.data, ada, 8));
  CHECK(code_of_book(book.pin(made.data, ada, book_start)) == ErrorCode::data_lost);
  CHECK(code_of_book(book.pin(made.data, ada, book_start, 8)) == ErrorCode::data_lost);
  CHECK(code_of_book(book.pin_for_copy(made.data, book_start)) == ErrorCode::data_lost);
  CHECK(code_of_book(book.open({made.data, made.terms.secret, DataAccess::read}, ada,
                               book_start)) == ErrorCode::denied);
  REQUIRE(book.pin(made.data, ada, book_start, 7).has_value());
  book.unpin(made.data);
  // Once more, as after a lost answer; but not in another size.
  CHECK(book.check_seal_in_call(made.data, 7, 20_B).has_value());
  CHECK(code_of_book(book.check_seal_in_call(made.data, 7, 10_B)) == ErrorCode::conflict);

  CHECK(book.held(book_start).empty());
  CHECK(book.keep_only({}).empty());
  CHECK(code_of_book(book.make(room_request(90), book_start)) == ErrorCode::no_data_memory);
  const auto of_call = book.made_by(7);
  REQUIRE(of_call.size() == 1);
  CHECK(of_call[0].sealed);
  CHECK(of_call[0].terms.bytes == 20_B);
  CHECK(book.made_by(8).empty());

  CHECK(book.publish({.data = made.data, .version = 3, .expires_in = 10s}, 998, book_start));
  CHECK(book.made_by(7).empty());
  CHECK(book.has_for(made.data, ada, 8));
  const auto held = book.held(book_start);
  REQUIRE(held.size() == 1);
  CHECK(held[0].terms.version == 3);
  CHECK(held[0].terms.holder_uid == 998);
  CHECK(held[0].terms.expires_in == 10s);
  CHECK(book.end_overdue(book_start + 10s).size() == 1);
  CHECK_FALSE(book.publish({.data = made.data}, {}, book_start));
}

TEST_CASE("when the grant ends, what calls are making stays for as long as their workers do") {
  DataBook book = book_of(100);
  const MakeData made = room_request(60);
  REQUIRE(book.make_in_call(made, 7, book_start).has_value());
  const MakeData other = room_request(10);
  REQUIRE(book.make(other, book_start).has_value());
  CHECK(book.drop_all() == std::vector{other.data});
  CHECK(book.used() == 60_B);
}

TEST_CASE("what calls have sealed comes in the order in which they did, and after their rooms") {
  DataBook book = book_of(1000);
  std::vector<DataId> sealed;
  for (int i = 0; i < 20; ++i) {
    const MakeData made = room_request(10);
    REQUIRE(book.make_in_call(made, 7, book_start).has_value());
    sealed.push_back(made.data);
  }
  const MakeData room = room_request(10);
  REQUIRE(book.make_in_call(room, 7, book_start).has_value());
  std::ranges::reverse(sealed);
  for (const DataId& data : sealed) book.seal_in_call(data, 1_B, "same", book_start);
  const auto made = book.made_by(7);
  REQUIRE(made.size() == 21);
  CHECK(made.front().data == room.data);
  CHECK_FALSE(made.front().sealed);
  CHECK(std::ranges::equal(made.begin() + 1, made.end(), sealed.begin(), sealed.end(), {},
                           &DataBook::MadeInCall::data));
  CHECK(book.is_sealed_by(sealed.front(), 7));
  CHECK_FALSE(book.is_sealed_by(sealed.front(), 8));
  CHECK_FALSE(book.is_sealed_by(room.data, 7));
}

TEST_CASE("what is given up slowly is charged until its memory is back") {
  DataBook book = book_of(100);
  const MakeData made = room_request(60);
  REQUIRE(book.make_in_call(made, 7, book_start).has_value());
  CHECK(book.drop_slowly(made.data));
  CHECK_FALSE(book.drop_slowly(made.data));
  CHECK_FALSE(book.contains(made.data));
  CHECK(book.made_by(7).empty());
  CHECK(book.used() == 60_B);
  CHECK(code_of_book(book.make(room_request(50), book_start)) == ErrorCode::no_data_memory);
  book.unpin(made.data);
  CHECK(book.used() == 0_B);
}

}  // namespace
}  // namespace orchid::executor
