// What the sandbox refuses, each in all ways that there are.
#include <doctest/doctest.h>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("files are opened") {
  Stage::get().perform({.name = "opens_files", .words = "all refused"});
}

TEST_CASE("files are looked at") {
  Stage::get().perform({.name = "looks_at_files", .words = "all refused"});
}

TEST_CASE("files are changed") {
  Stage::get().perform({.name = "changes_files", .words = "all refused"});
}

TEST_CASE("sockets are made") {
  Stage::get().perform({.name = "makes_sockets", .words = "all refused"});
}

TEST_CASE("processes are started") {
  Stage::get().perform({.name = "forks", .words = "all refused"});
}

TEST_CASE("processes are started that share memory") {
  Stage::get().perform({.name = "forks_with_shared_memory", .words = "all refused"});
}

TEST_CASE("another program is run") {
  Stage::get().perform({.name = "executes", .words = "all refused"});
}

TEST_CASE("namespaces are entered") {
  Stage::get().perform({.name = "enters_namespaces", .words = "all refused"});
}

TEST_CASE("privileges are gained") {
  Stage::get().perform({.name = "gains_privileges", .words = "all refused"});
}

TEST_CASE("other processes are attacked") {
  Stage::get().perform({.name = "attacks_processes", .words = "all refused"});
}

TEST_CASE("limits of other processes are read") {
  Stage::get().perform({.name = "reads_limits_of_others", .words = "all refused"});
}

TEST_CASE("own limits are changed") {
  Stage::get().perform({.name = "changes_own_limits", .words = "all refused"});
}

TEST_CASE("scheduling is changed") {
  Stage::get().perform({.name = "changes_scheduling", .words = "all refused"});
}

TEST_CASE("memory is locked") {
  Stage::get().perform({.name = "locks_memory", .words = "all refused"});
}

TEST_CASE("shared memory and queues are made") {
  Stage::get().perform({.name = "makes_shared_memory", .words = "all refused"});
}

TEST_CASE("descriptors are made") {
  Stage::get().perform({.name = "makes_descriptors", .words = "all refused"});
}

TEST_CASE("timers are left") {
  Stage::get().perform({.name = "arms_timers", .words = "all refused"});
}

TEST_CASE("the kernel's machinery is used") {
  Stage::get().perform({.name = "uses_kernel_machinery", .words = "all refused"});
}

TEST_CASE("filters are changed") {
  Stage::get().perform({.name = "changes_filters", .words = "all refused"});
}

TEST_CASE("the machine is controlled") {
  Stage::get().perform({.name = "controls_machine", .words = "all refused"});
}

TEST_CASE("system calls are made by the x32 numbers") {
  Stage::get().perform({.name = "calls_x32_kernel", .outcomes = {"function_crashed"}});
}

TEST_CASE("system calls are made as 32-bit programs make them") {
  Stage::get().perform({.name = "calls_32_bit_kernel", .outcomes = {"function_crashed"}});
}

TEST_CASE("signals are left pending, which the kernel counts for the whole user") {
  Stage::get().perform({.name = "uses_up_signals", .words = "few"});
}

}  // namespace orchid::tests
