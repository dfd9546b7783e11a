// Acts against the lane, the status page and the descriptors that a worker needs.
#include <doctest/doctest.h>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("the lane is unmapped") {
  Stage::get().perform({.name = "unmaps_lane", .outcomes = {"function_crashed"}});
}

TEST_CASE("the lane is made read-only") {
  Stage::get().perform({.name = "protects_lane", .outcomes = {"function_crashed"}});
}

TEST_CASE("other memory is put over the lane") {
  Stage::get().perform({.name = "maps_over_lane",
                        .outcomes = {"function_crashed", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("the lane's memory is given back under its client") {
  Stage::get().perform({.name = "punches_lane",
                        .outcomes = {"ok", "function_crashed", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("the lane is written over") {
  Stage::get().perform({.name = "scribbles_over_lane",
                        .outcomes = {"ok", "function_crashed", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("the client's sleep is forged") {
  Stage::get().perform({.name = "claims_to_sleep",
                        .outcomes = {"ok", "deadline_exceeded", "function_crashed"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("an output goes far past its room") {
  Stage::get().perform({.name = "overruns_output",
                        .outcomes = {"ok", "function_crashed", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("calls that wait are written over") {
  Stage::get().perform({.name = "overruns_input",
                        .outcomes = {"ok", "function_crashed", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("other memory is put over the status page") {
  Stage::get().perform({.name = "unmaps_status_page",
                        .outcomes = {"ok", "deadline_exceeded", "function_crashed"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("all descriptors are closed") {
  Stage::get().perform({.name = "closes_descriptors", .words = "done"});
}

TEST_CASE("descriptors are replaced and changed") {
  Stage::get().perform({.name = "changes_descriptors", .words = "all refused"});
}

TEST_CASE("calls of others are answered") {
  Stage::get().perform({.name = "answers_for_others",
                        .outcomes = {"ok", "function_crashed", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

}  // namespace orchid::tests
