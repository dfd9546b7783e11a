// Acts against the machine's time and its memory: deadlines and limits hold.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <span>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("a call computes for ever") {
  Stage::get().perform({.name = "spins",
                        .outcomes = {"deadline_exceeded"},
                        .words = "deadline",
                        .deadline = milliseconds(500)});
}

TEST_CASE("a call sleeps for ever with all signals blocked") {
  Stage::get().perform({.name = "sleeps_on",
                        .outcomes = {"deadline_exceeded"},
                        .words = "deadline",
                        .deadline = milliseconds(500)});
}

TEST_CASE("a call waits for itself") {
  Stage::get().perform({.name = "waits_for_itself",
                        .outcomes = {"deadline_exceeded"},
                        .words = "deadline",
                        .deadline = milliseconds(500)});
}

TEST_CASE("two hundred threads compute until the deadline" * doctest::test_suite("slow")) {
  Stage::get().perform({.name = "busy_threads",
                        .outcomes = {"deadline_exceeded"},
                        .words = "deadline",
                        .deadline = milliseconds(500)});
}

TEST_CASE("threads are made without end") {
  Stage::get().perform(
      {.name = "bombs_threads", .outcomes = {"limit_exceeded"}, .words = "threads"});
}

TEST_CASE("the counters of wake-ups are filled") {
  Stage::get().perform({.name = "saturates_wake_ups", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("a client is woken a million times" * doctest::test_suite("slow")) {
  Stage::get().perform({.name = "floods_wake_ups", .words = "done"});
}

TEST_CASE("wake-ups are taken away") {
  Stage::get().perform({.name = "drains_wake_ups", .words = "done"});
}

TEST_CASE("memory is taken without end") {
  Stage::get().perform(
      {.name = "allocates_without_end", .outcomes = {"limit_exceeded", "function_error"}});
}

TEST_CASE("memory is mapped without end") {
  Stage::get().perform({.name = "maps_without_end", .words = "limited"});
}

TEST_CASE("memory is mapped that becomes writable later") {
  Stage::get().perform({.name = "makes_memory_writable_later", .words = "limited"});
}

TEST_CASE("the stack is used up by calls") {
  Stage::get().perform({.name = "recurses", .outcomes = {"function_crashed"}, .words = "stack"});
}

TEST_CASE("the stack is used up by one frame") {
  Stage::get().perform(
      {.name = "has_big_frame", .outcomes = {"function_crashed"}, .words = "stack"});
}

TEST_CASE("three hundred megabytes are printed" * doctest::test_suite("slow")) {
  Stage::get().perform({.name = "floods_log", .words = "done"});
}

TEST_CASE("as much is answered as a call may" * doctest::test_suite("slow")) {
  Stage::get().perform({.name = "floods_output", .words = "HHHH"});
}

TEST_CASE("room is asked for that cannot be") {
  Stage::get().perform({.name = "asks_for_impossible_output", .words = "refused"});
}

TEST_CASE("a call fails for want of room") {
  Stage::get().perform(
      {.name = "fails_for_want_of_output", .outcomes = {"limit_exceeded"}, .words = "output"});
}

TEST_CASE("the output changes its size a hundred thousand times") {
  Stage::get().perform({.name = "changes_output_size", .words = "done"});
}

TEST_CASE("a handler returns to its fault for ever") {
  Stage::get().perform({.name = "loops_in_handler",
                        .outcomes = {"deadline_exceeded"},
                        .words = "deadline",
                        .deadline = milliseconds(500)});
}

TEST_CASE("an exception never says what it is") {
  Stage::get().perform({.name = "spins_in_what",
                        .outcomes = {"deadline_exceeded"},
                        .words = "deadline",
                        .deadline = milliseconds(500)});
}

TEST_CASE("counters and clocks of the processor are read") {
  Stage::get().perform({.name = "reads_clocks", .outcomes = {"function_crashed"}});
}

TEST_CASE("a call ignores that it was cancelled") {
  Stage& stage = Stage::get();
  CHECK(stage.load("spins", std::chrono::seconds(60)).outcome == "ok");
  const std::string input = "act";
  const Invocation running = stage.client().submit("spins", std::as_bytes(std::span(input)), {});
  running.cancel();
  const InvocationStatus status = running.wait(std::chrono::seconds(20));
  CHECK_MESSAGE(status.outcome == "cancelled", status.json);
  stage.check_neighbour("spins (cancelled)");
  stage.check_leftovers();
}

TEST_CASE("after all this no worker computes without being called") { Stage::get().check_quiet(); }

}  // namespace orchid::tests
