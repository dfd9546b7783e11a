// What acts do to their own process is told as theirs, whatever they say about it.
#include <doctest/doctest.h>

#include "stage.h"

namespace orchid::tests {

using std::chrono::milliseconds;

TEST_CASE("a call kills its own process") {
  Stage::get().perform({.name = "kills_itself", .words = "all refused"});
}

TEST_CASE("a call stops its own process") {
  Stage::get().perform({.name = "stops_itself", .words = "all refused"});
}

TEST_CASE("a call ends by a signal that nobody waits for") {
  Stage::get().perform({.name = "ends_by_user_signal",
                        .outcomes = {"function_crashed"},
                        .words = "User defined signal 1"});
}

TEST_CASE("a call sends itself a signal in another's name") {
  Stage::get().perform({.name = "sends_forged_signal", .words = "all refused"});
}

TEST_CASE("a call sends itself what a batch system sends") {
  Stage::get().perform({.name = "asks_itself_to_end", .words = "done"});
}

TEST_CASE("a call aborts") {
  Stage::get().perform({.name = "aborts", .outcomes = {"function_crashed"}, .words = "Aborted"});
}

TEST_CASE("rubbish is written to the worker's socket") {
  Stage::get().perform(
      {.name = "floods_socket", .outcomes = {"function_crashed"}, .words = "rules of its sandbox"});
}

TEST_CASE("an empty packet is sent on the worker's socket") {
  Stage::get().perform({.name = "sends_empty_packet",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("descriptors are sent on the worker's socket") {
  Stage::get().perform({.name = "sends_descriptors",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("messages of a worker are forged") {
  Stage::get().perform({.name = "forges_messages",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("messages of the agent are taken") {
  Stage::get().perform({.name = "steals_messages", .outcomes = {"ok", "function_crashed"}});
}

TEST_CASE("the worker's last words are forged") {
  Stage::get().perform({.name = "forges_last_words",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("an answered call is forged") {
  Stage::get().perform({.name = "forges_spoiled_end",
                        .outcomes = {"function_crashed"},
                        .words = "rules of its sandbox"});
}

TEST_CASE("a signal is forged") {
  Stage::get().perform(
      {.name = "forges_signal", .outcomes = {"function_crashed", "function_exited"}});
}

TEST_CASE("an idle worker is forged, and computes for ever") {
  Stage::get().perform({.name = "forges_idleness",
                        .outcomes = {"deadline_exceeded", "function_crashed"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("a call without deadline is forged") {
  Stage::get().perform({.name = "forges_deadline",
                        .outcomes = {"deadline_exceeded", "function_crashed"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("another call's number is forged") {
  Stage::get().perform({.name = "forges_request", .outcomes = {"function_crashed"}});
}

TEST_CASE("a call exits") {
  Stage::get().perform({.name = "exits", .outcomes = {"function_exited"}, .words = "exit(7)"});
}

TEST_CASE("a call ends its process with success") {
  Stage::get().perform(
      {.name = "exits_by_system_call", .outcomes = {"function_exited"}, .words = "status 0"});
}

TEST_CASE("the thread of the call ends, and the process does not") {
  Stage::get().perform({.name = "ends_main_thread",
                        .outcomes = {"deadline_exceeded", "function_crashed"},
                        .deadline = milliseconds(500)});
}

TEST_CASE("the thread of the call ends properly") {
  Stage::get().perform({.name = "ends_thread",
                        .outcomes = {"function_crashed", "function_exited", "function_error"}});
}

TEST_CASE("the thread of the call is cancelled") {
  Stage::get().perform({.name = "cancels_itself",
                        .outcomes = {"function_crashed", "function_exited", "function_error"}});
}

TEST_CASE("exit is called while an exception is on its way") {
  Stage::get().perform(
      {.name = "exits_in_destructor", .outcomes = {"function_exited"}, .words = "exit(3)"});
}

TEST_CASE("an exception goes through a promise of none") {
  Stage::get().perform(
      {.name = "throws_through_noexcept", .outcomes = {"function_crashed"}, .words = "Aborted"});
}

TEST_CASE("an exception's end throws another one") {
  Stage::get().perform({.name = "throws_what_throws", .outcomes = {"function_crashed"}});
}

TEST_CASE("an exception of no language is raised") {
  Stage::get().perform({.name = "throws_foreign_exception",
                        .outcomes = {"function_crashed", "function_error", "ok"}});
}

TEST_CASE("an exception has no words") {
  Stage::get().perform({.name = "throws_without_words", .outcomes = {"function_crashed"}});
}

TEST_CASE("a status is returned that nobody knows") {
  Stage::get().perform(
      {.name = "returns_odd_status", .outcomes = {"function_error"}, .words = "-2147483648"});
}

TEST_CASE("a message is no text") {
  Stage::get().perform({.name = "writes_odd_message", .outcomes = {"function_error"}});
}

TEST_CASE("the host's functions get wild pointers") {
  Stage::get().perform({.name = "gives_wild_pointers", .outcomes = {"function_crashed"}});
}

TEST_CASE("a call jumps into one that has ended") {
  Stage::get().perform(
      {.name = "jumps_out_of_call",
       .outcomes = {"ok", "function_crashed", "function_error", "deadline_exceeded"},
       .deadline = milliseconds(500),
       .times = 3});
}

TEST_CASE("registers that were to be kept have other values") {
  Stage::get().perform({.name = "trashes_registers", .outcomes = {"ok", "function_crashed"}});
}

}  // namespace orchid::tests
