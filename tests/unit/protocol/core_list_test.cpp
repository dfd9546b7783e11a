#include "protocol/core_list.h"

#include <doctest/doctest.h>

namespace orchid {

TEST_CASE("core lists are read as they are written, and sorted") {
  CHECK(parse_core_list("")->empty());
  CHECK(parse_core_list("0") == CoreList{0});
  CHECK(parse_core_list("0-1,8") == CoreList{0, 1, 8});
  CHECK(parse_core_list("8,0-2,1-3") == CoreList{0, 1, 2, 3, 8});
  CHECK(to_core_text({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(to_core_text({}).empty());
  CHECK(to_core_text(parse_core_list("0-65535").value()) == "0-65535");
}

TEST_CASE("what is no core list is refused") {
  for (const std::string text : {",", "1,", "-1", "1-", "3-1", "1 2", "a", "0x1", "65536",
                                 "0-65536", "99999999999999", "1--2", "1-2-3", "+1"})
    CHECK_FALSE_MESSAGE(parse_core_list(text).has_value(), text);
}

TEST_CASE("overlapping ranges cannot ask for any amount of memory") {
  std::string text = "0-65535";
  for (int i = 0; i < 1000; ++i) text += ",0-65535";
  CHECK_FALSE(parse_core_list(text).has_value());
}

TEST_CASE("lists are joined and subtracted as sets") {
  CHECK(without({0, 1, 2, 3}, {1, 3, 9}) == CoreList{0, 2});
  CHECK(common({0, 1, 2, 3}, {1, 3, 9}) == CoreList{1, 3});
  CHECK(united({0, 2}, {1, 2}) == CoreList{0, 1, 2});
  CHECK(first_numbers(3) == CoreList{0, 1, 2});
}

TEST_CASE("a batch system's processors are found by the order of the machine's threads") {
  // Two sockets of two cores of two threads; the second threads come last, sockets alternate.
  const CoreList order{0, 4, 2, 6, 1, 5, 3, 7};
  CHECK(threads_behind({1, 2}, 4, order) == CoreList{1, 2, 5, 6});  // whole cores
  CHECK(threads_behind({1, 2}, 8, order) == CoreList{2, 4});        // threads
  CHECK(threads_behind({}, 4, order) == CoreList{});
  CHECK_FALSE(threads_behind({4}, 4, order).has_value());
  CHECK_FALSE(threads_behind({0}, 3, order).has_value());
  CHECK_FALSE(threads_behind({0}, 16, order).has_value());
  CHECK_FALSE(threads_behind({0}, 0, order).has_value());
  CHECK_FALSE(threads_behind({0}, 1, {}).has_value());
}

}  // namespace orchid
