#include "placement/core_set.h"

#include <doctest/doctest.h>

namespace orchid::placement {
namespace {

TEST_CASE("a set of cores is written and read as Slurm writes it") {
  const CoreSet set{0, 1, 2, 3, 8, 64, 65, 200};
  CHECK(to_string(set) == "0-3,8,64-65,200");
  CHECK(parse_core_set("0-3,8,64-65,200").value() == set);
  CHECK(parse_core_set("").value() == CoreSet{});
  CHECK(set.numbers() == std::vector<std::uint32_t>{0, 1, 2, 3, 8, 64, 65, 200});
}

TEST_CASE("what is no list of cores is refused") {
  for (const char* text :
       {"a", "1-", "-1", "3-1", "1,", ",1", "1,,2", "4096", "0-99999999999", "1 2"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_core_set(text).has_value());
  }
}

TEST_CASE("sets are equal when they have the same numbers, however they came to it") {
  CoreSet set{1, 300};
  set.erase(300);
  CHECK(set == CoreSet{1});
  CoreSet other{1, 2, 300};
  other -= CoreSet{2, 300};
  CHECK(other == CoreSet{1});
  CHECK((CoreSet{1, 300} & CoreSet{1, 2}) == CoreSet{1});
  CHECK((CoreSet{1} | CoreSet{130}).size() == 2);
  CHECK(CoreSet::first(130) == parse_core_set("0-129").value());
  CHECK(CoreSet::first(64).size() == 64);
}

TEST_CASE("sets with many cores are compared word by word") {
  CHECK(CoreSet{70, 5}.intersects({70}));
  CHECK_FALSE(CoreSet{70, 5}.intersects({71}));
  CHECK(CoreSet{70, 5}.includes({70}));
  CHECK_FALSE(CoreSet{5}.includes({70}));
  CHECK(CoreSet{}.includes({}));
}

TEST_CASE("neighbours are found in both directions") {
  const CoreSet set{3, 64, 191};
  CHECK(set.next(0) == 3);
  CHECK(set.next(4) == 64);
  CHECK(set.next(65) == 191);
  CHECK(set.next(192) == CoreSet::limit);
  CHECK(set.previous(4000) == 191);
  CHECK(set.previous(190) == 64);
  CHECK(set.previous(63) == 3);
  CHECK(set.previous(2) == CoreSet::limit);
  CHECK(set.lowest(2) == CoreSet{3, 64});
}

}  // namespace
}  // namespace orchid::placement
