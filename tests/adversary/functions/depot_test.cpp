// Acts against the depot of their tenant, over the worker's service socket.
#include <doctest/doctest.h>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("rubbish is sent to the depot") {
  Stage::get().perform({.name = "talks_nonsense_to_depot",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("a descriptor is sent to the depot") {
  Stage::get().perform({.name = "sends_depot_descriptors",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("the depot is asked without end") {
  Stage::get().perform({.name = "asks_depot_without_end",
                        .outcomes = {"deadline_exceeded"},
                        .deadline = milliseconds(1500)});
}

TEST_CASE("rooms that were given up are kept") {
  Stage::get().perform({.name = "keeps_rooms", .words = "8 refused, 0 bytes kept"});
}

}  // namespace orchid::tests
