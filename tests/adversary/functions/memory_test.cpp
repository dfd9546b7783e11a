// Acts against the memory of their own process: each costs its own call.
#include <doctest/doctest.h>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("an address without memory is written to") {
  Stage::get().perform(
      {.name = "writes_to_nowhere", .outcomes = {"function_crashed"}, .words = "at address 0x8"});
}

TEST_CASE("what is no code is called") {
  Stage::get().perform({.name = "jumps_to_nowhere",
                        .outcomes = {"function_crashed"},
                        .words = "Segmentation fault"});
}

TEST_CASE("memory is given back twice") {
  Stage::get().perform(
      {.name = "frees_twice", .outcomes = {"function_crashed"}, .words = "Aborted"});
}

TEST_CASE("the stack is smashed") {
  Stage::get().perform({.name = "smashes_stack", .outcomes = {"function_crashed"}});
}

TEST_CASE("the guard page of a thread is touched") {
  Stage::get().perform({.name = "touches_guard_page",
                        .outcomes = {"function_crashed"},
                        .words = "Segmentation fault"});
}

TEST_CASE("an instruction is none") {
  Stage::get().perform({.name = "executes_nonsense",
                        .outcomes = {"function_crashed"},
                        .words = "Illegal instruction"});
}

TEST_CASE("an instruction is the kernel's") {
  Stage::get().perform({.name = "executes_privileged", .outcomes = {"function_crashed"}});
}

TEST_CASE("each instruction is a signal") {
  Stage::get().perform(
      {.name = "traces_itself", .outcomes = {"function_crashed"}, .words = "trap"});
}

TEST_CASE("the right to read is taken from all pages") {
  Stage::get().perform({.name = "takes_rights_from_pages", .outcomes = {"function_crashed"}});
}

TEST_CASE("a thousand faults are survived") {
  Stage::get().perform({.name = "survives_faults", .words = "done"});
}

TEST_CASE("a fault comes where no handler can run") {
  Stage::get().perform(
      {.name = "ignores_faults", .outcomes = {"function_crashed"}, .words = "Segmentation fault"});
}

TEST_CASE("the worker's code is written to") {
  Stage::get().perform({.name = "writes_worker_code",
                        .outcomes = {"function_crashed"},
                        .words = "Segmentation fault"});
}

TEST_CASE("memory is to be writable and executable") {
  Stage::get().perform({.name = "maps_writable_code", .words = "all refused"});
}

TEST_CASE("own machine code asks for a child") {
  Stage::get().perform({.name = "runs_own_code", .words = "all refused"});
}

TEST_CASE("the worker's code is made writable and patched") {
  Stage::get().perform(
      {.name = "patches_worker_code", .outcomes = {"ok", "function_crashed", "function_error"}});
}

TEST_CASE("memory is taken that the kernel's limit does not count") {
  Stage::get().perform({.name = "hides_memory",
                        .outcomes = {"limit_exceeded"},
                        .words = "more memory than its worker's limit"});
}

}  // namespace orchid::tests
