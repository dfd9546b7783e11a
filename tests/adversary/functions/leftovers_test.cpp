// What acts leave behind in the process that they ran in: no other function's answers change.
#include <doctest/doctest.h>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("values are left on the x87 stack") {
  Stage::get().perform({.name = "fills_x87_stack", .words = "done"});
}

TEST_CASE("precision and rounding are left changed") {
  Stage::get().perform({.name = "changes_precision", .words = "done"});
}

TEST_CASE("string instructions are left going backwards") {
  Stage::get().perform({.name = "sets_direction_flag", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("alignment checks are left on") {
  Stage::get().perform({.name = "sets_alignment_check", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("a global locale is left") {
  Stage::get().perform({.name = "sets_global_locale", .words = "done"});
}

TEST_CASE("a thread's locale is left") {
  Stage::get().perform({.name = "sets_thread_locale", .words = "done"});
}

TEST_CASE("a stack for signals is left that is too small") {
  Stage::get().perform({.name = "leaves_signal_stack", .words = "done"});
}

TEST_CASE("signals are left blocked and ignored") {
  Stage::get().perform({.name = "leaves_signals_ignored", .words = "done"});
}

TEST_CASE("handlers of the C++ library are left that never return") {
  Stage::get().perform({.name = "leaves_handlers", .words = "done"});
}

TEST_CASE("settings of malloc are left") {
  Stage::get().perform({.name = "perturbs_malloc", .words = "done"});
}

TEST_CASE("the standard streams are left broken") {
  Stage::get().perform({.name = "breaks_streams", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("the standard output is left locked") {
  Stage::get().perform({.name = "locks_stream",
                        .outcomes = {"ok", "deadline_exceeded"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("half a gibibyte is kept") {
  Stage::get().perform({.name = "keeps_memory", .words = "done"});
}

TEST_CASE("all mappings are used up") {
  Stage::get().perform({.name = "uses_up_mappings", .words = "done"});
}

TEST_CASE("the thread's control block is overwritten") {
  Stage::get().perform({.name = "overwrites_thread_area", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("the thread's registers point elsewhere") {
  Stage::get().perform({.name = "moves_thread_area", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("a thread is left running") {
  Stage::get().perform({.name = "leaves_thread", .words = "done"});
}

TEST_CASE("a thread writes to the output after the return") {
  Stage::get().perform({.name = "writes_after_return", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("destructors are left that never end") {
  Stage::get().perform({.name = "registers_destructors", .words = "done"});
}

TEST_CASE("the heap is left damaged") {
  Stage::get().perform({.name = "overflows_heap", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("a megabyte is answered that no other answer may show") {
  Stage::get().perform({.name = "fills_output", .words = "HOSTILE"});
}

TEST_CASE("floating-point exceptions are left unmasked") {
  Stage::get().perform({.name = "unmasks_exceptions", .words = "done"});
}

}  // namespace orchid::tests
