#include "utilisation/free_profile.h"

#include <doctest/doctest.h>

using namespace orchid::utilisation;
using std::chrono::seconds;

TEST_CASE("a job gets the fullest node that takes it, or else as few nodes as will do") {
  CHECK(choose_nodes({8, 3, 5}, 4) == Shares{{.node = 2, .cores = 4}});
  CHECK(choose_nodes({8, 3, 5}, 11) == Shares{{0, 8}, {1, 3}});
  CHECK(choose_nodes({8, 8, 8, 2}, 18) == Shares{{0, 8}, {1, 8}, {3, 2}});
  CHECK(choose_nodes({1, 0, -4, 1}, 2) == Shares{{0, 1}, {3, 1}});
  CHECK_FALSE(choose_nodes({1, 0, -4, 1}, 3));
}

TEST_CASE("what is free changes at its steps") {
  FreeProfile profile(seconds(10), {4, 0});
  profile.release(seconds(100), {.node = 1, .cores = 3});
  profile.take(seconds(50), seconds(120), {.node = 0, .cores = 2});
  CHECK(profile.least_free(seconds(10), seconds(50)) == std::vector<std::int32_t>{4, 0});
  CHECK(profile.least_free(seconds(10), seconds(51)) == std::vector<std::int32_t>{2, 0});
  CHECK(profile.least_free(seconds(100), seconds(500)) == std::vector<std::int32_t>{2, 3});
  CHECK(profile.least_free(seconds(120), seconds(500)) == std::vector<std::int32_t>{4, 3});
  CHECK(profile.least_free(0, seconds(60), seconds(70)) == 2);
  CHECK(profile.falls_below(0, 4) == seconds(50));
  CHECK_FALSE(profile.falls_below(0, 2));
  CHECK(profile.falls_below(1, 1) == seconds(10));
}

TEST_CASE("the earliest start is where enough stays free for the whole length") {
  FreeProfile profile(seconds(0), {4, 4});
  profile.take(seconds(60), seconds(100), {.node = 0, .cores = 3});
  const auto now = profile.earliest(8, seconds(60), seconds(1000));
  REQUIRE(now);
  CHECK(now->start == seconds(0));
  // A second longer reaches into what is taken.
  const auto later = profile.earliest(8, seconds(61), seconds(1000));
  REQUIRE(later);
  CHECK(later->start == seconds(100));
  CHECK(later->shares == Shares{{0, 4}, {1, 4}});
  const auto beside = profile.earliest(5, seconds(61), seconds(1000));
  REQUIRE(beside);
  CHECK(beside->start == seconds(0));
  CHECK_FALSE(profile.earliest(8, seconds(61), seconds(99)));
  CHECK_FALSE(profile.earliest(9, seconds(1), seconds(1000)));
}

TEST_CASE("steps are made in any order") {
  FreeProfile profile(seconds(0), {100});
  for (const int start : {50, 10, 90, 30, 70, 20})
    profile.take(seconds(start), seconds(start + 25), {.node = 0, .cores = 1});
  CHECK(profile.least_free(0, seconds(36), seconds(40)) == 98);
  CHECK(profile.least_free(0, seconds(34), seconds(35)) == 97);
  CHECK(profile.least_free(0, seconds(0), seconds(200)) == 97);
  CHECK(profile.least_free(0, seconds(115), seconds(200)) == 100);
}
