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
  CHECK(united({0, 2}, {1, 2}) == CoreList{0, 1, 2});
  CHECK(first_numbers(3) == CoreList{0, 1, 2});
}

}  // namespace orchid
