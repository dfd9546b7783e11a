#include "site/slot_book.h"

#include <doctest/doctest.h>

namespace orchid::site {
namespace {

const SlotUse alice_slot{.owner = 1000};
const SlotUse bob{.owner = 1001};
const SlotUse all{.owner = 1000, .users = GrantUsers::everybody};

}  // namespace

TEST_CASE("a grant gets the slot that the last one of its owner had") {
  SlotBook book({std::nullopt, bob, alice_slot});
  const auto first = book.take(alice_slot);
  REQUIRE(first.has_value());
  CHECK(first->number == 2);
  CHECK(first->is_clean);
  book.give_back(2);
  CHECK(book.take(alice_slot)->number == 2);
}

TEST_CASE("what one owner has left is not kept for another, nor for everybody") {
  SlotBook book({alice_slot});
  const auto taken = book.take(all);
  REQUIRE(taken.has_value());
  CHECK_FALSE(taken->is_clean);
  book.give_back(taken->number);
  CHECK(book.take({.owner = 1001, .users = GrantUsers::everybody})->is_clean);
  book.give_back(0);
  CHECK_FALSE(book.take(alice_slot)->is_clean);
}

TEST_CASE("slots that nobody has used go first, then those that were used longest ago") {
  SlotBook book({alice_slot, alice_slot, std::nullopt});
  CHECK(book.take(bob)->number == 2);
  CHECK(book.take(alice_slot)->is_clean);
  CHECK(book.take(alice_slot)->is_clean);
  CHECK(book.in_use() == 3);
  CHECK_FALSE(book.take(bob).has_value());
  book.give_back(1);
  book.give_back(0);
  const auto coldest = book.take(all);
  CHECK(coldest->number == 1);
  CHECK_FALSE(coldest->is_clean);
}

TEST_CASE("a slot that was not used is put back as it was") {
  SlotBook book({alice_slot, bob});
  const auto first = book.take(alice_slot);
  const auto second = book.take(alice_slot);
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(second->number == 1);
  book.put_back(*first);
  book.put_back(*second);
  CHECK(book.in_use() == 0);
  CHECK(book.take(bob)->is_clean);
  CHECK(book.take(alice_slot)->is_clean);
}

TEST_CASE("a folder of no known use is not kept") {
  SlotBook book({alice_slot});
  REQUIRE(book.take(alice_slot).has_value());
  book.forget_use(0);
  book.give_back(0);
  CHECK_FALSE(book.take(alice_slot)->is_clean);
}

}  // namespace orchid::site
