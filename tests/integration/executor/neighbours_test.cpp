// What functions that share a worker leave to each other: nothing that changes an answer, and
// nothing that stops a load.
#include "executor_fixture.h"

namespace orchid::tests {
TEST_CASE_FIXTURE(ExecutorFixture, "numbers are computed and written as in a fresh process") {
  for (int i = 0; i < 3; ++i) {
    CHECK(call("leaves_x87_values").output == "3");
    CHECK(call("sets_global_locale").output == "1.5 1.5 1 10");
    CHECK(call("changes_flags").outcome == Outcome::ok);
    CHECK(call("changes_rounding").output == "0");
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "no timer fires in a later call") {
  CHECK(call("sets_timers").output == "refused");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "a thread area that is overwritten costs the worker alone") {
  const auto reply = call("overwrites_thread_area");
  CHECK(reply.outcome == Outcome::ok);
  CHECK_FALSE(reply.ended);
  check_replaced("thread's area");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "mappings that are used up cost the worker, and no load") {
  CHECK(call("uses_up_mappings").output == "used up");
  check_replaced("mappings");
  check_next_call();
}

#ifndef ORCHID_SANITIZED  // whose allocator keeps memory of its own
TEST_CASE_FIXTURE(ExecutorFixture, "memory that is kept costs the worker, and no load") {
  CHECK(call("holds_memory", "500 20").outcome == Outcome::ok);
  check_replaced("memory");
  check_next_call();
}
#endif

}  // namespace orchid::tests
