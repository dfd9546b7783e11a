// Acts that happen while a module is loaded.
#include <doctest/doctest.h>

#include <chrono>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("a module has functions with the names of the library's") {
  Stage::get().perform({.name = "redefines_library", .words = "done"});
}

TEST_CASE("a module has a thousand initialisers") {
  Stage::get().perform({.name = "has_many_initialisers", .words = "loaded"});
}

namespace {

/// The act does not get as far as a call.
void refuse_to_load(const char* act, const char* words, milliseconds deadline) {
  CAPTURE(std::string(act));
  Stage& stage = Stage::get();
  Ending ending;
  try {
    ending = stage.load(act, deadline);
  } catch (const Error& error) {  // when it was deployed
    ending = {.outcome = std::string(to_string(error.kind())), .words = error.message()};
  }
  const std::string seen = ending.outcome + (ending.retryable ? " (retryable): " : ": ") +
                           ending.words + ", after " + std::to_string(ending.took.count()) + " ms";
  CHECK_MESSAGE(ending.outcome != "ok", seen);
  CHECK_MESSAGE(ending.outcome != "worker_lost", seen);
  CHECK_MESSAGE(ending.words.find(words) != std::string::npos, seen);
  CHECK_MESSAGE(ending.took < deadline + std::chrono::seconds(5), seen);
  stage.check_neighbour(act);
  stage.check_leftovers();
}

}  // namespace

TEST_CASE("an initialiser throws") {
  refuse_to_load("throws_on_load", "no good start", std::chrono::seconds(20));
}

TEST_CASE("a module that does not load is called more often than a worker has slots" *
          doctest::test_suite("slow")) {
  for (int time = 0; time < 1100; ++time)
    REQUIRE(Stage::get().load("throws_on_load", std::chrono::seconds(20)).outcome != "ok");
  refuse_to_load("throws_on_load", "no good start", std::chrono::seconds(20));
}

TEST_CASE("an initialiser exits") {
  refuse_to_load("exits_on_load", "load", std::chrono::seconds(20));
}

TEST_CASE("an initialiser crashes") {
  refuse_to_load("crashes_on_load", "load", std::chrono::seconds(20));
}

TEST_CASE("an initialiser never ends") { refuse_to_load("hangs_on_load", "", milliseconds(1000)); }

TEST_CASE("an initialiser uses up the stack") {
  refuse_to_load("recurses_on_load", "load", std::chrono::seconds(20));
}

TEST_CASE("the choice of code never ends") {
  refuse_to_load("resolves_for_ever", "", milliseconds(1000));
}

TEST_CASE("a module wants more data than there is") {
  refuse_to_load("wants_huge_data", "", std::chrono::seconds(20));
}

TEST_CASE("a module wants more data for each thread than there is") {
  Stage::get().perform(
      {.name = "wants_huge_thread_data", .outcomes = {"function_crashed", "limit_exceeded"}});
}

TEST_CASE("an initialiser starts a thread") {
  CHECK(Stage::get().load("starts_thread_on_load", std::chrono::seconds(20)).outcome !=
        "worker_lost");
  Stage::get().check_neighbour("starts_thread_on_load");
  Stage::get().check_leftovers();
}

TEST_CASE("an initialiser takes all memory") {
  CHECK(Stage::get().load("allocates_on_load", std::chrono::seconds(20)).outcome != "worker_lost");
  Stage::get().check_neighbour("allocates_on_load");
  Stage::get().check_leftovers();
}

TEST_CASE("an initialiser ends its process without a word") {
  refuse_to_load("ends_quietly_on_load", "load", std::chrono::seconds(20));
}

}  // namespace orchid::tests
