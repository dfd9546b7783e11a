// What functions do wrong: each has its outcome, a message that says what happened, and no effect
// on the next call.
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "executor_fixture.h"
#include "worker/status_page.h"

namespace orchid::tests {

using namespace std::chrono_literals;

TEST_CASE_FIXTURE(ExecutorFixture, "a function's error comes with its message") {
  const auto reply = call("returns_error");
  CHECK(reply.outcome == Outcome::function_error);
  CHECK(reply.message == "the answer was not 42");
  CHECK(contains(call("returns_status").message, "77"));
  CHECK_FALSE(reply.ended);
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "an exception that escapes is a function_error with its text") {
  const auto reply = call("throws_runtime_error");
  CHECK(reply.outcome == Outcome::function_error);
  CHECK(contains(reply.message, "std::runtime_error: "));
  CHECK(contains(call("throws_int").message, "type int"));
  CHECK(call("throws_inside").outcome == Outcome::ok);
  CHECK_FALSE(reply.ended);
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "a crash costs one call and names signal and place") {
  struct Case {
    const char* function;
    int signal;
  };
  std::vector<Case> cases{{"segfaults", SIGSEGV}, {"aborts", SIGABRT}};
#ifdef __x86_64__  // elsewhere a division by zero has a result
  cases.push_back({"divides_by_zero", SIGFPE});
#endif
  for (const auto& [function, signal] : cases) {
    CAPTURE(function);
    const auto reply = call(function);
    CHECK(reply.outcome == Outcome::function_crashed);
    CHECK(reply.ended);
    CHECK(reply.signal == signal);
    CHECK(contains(reply.message, ::strsignal(signal)));
    if (signal != SIGABRT) CHECK(contains(reply.message, std::string("orchid_entry_") + function));
    check_next_call();
  }
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "an overflow of the stack is recognised, by recursion and by one big frame") {
  for (const char* function : {"stack_recursion", "stack_big_frame"}) {
    CAPTURE(function);
    const auto reply = call(function);
    CHECK(reply.outcome == Outcome::function_crashed);
    CHECK(reply.signal == SIGSEGV);
    CHECK(contains(reply.message, "stack"));
    check_next_call();
  }
  CHECK(call("big_frame_fits").outcome == Outcome::ok);
}

TEST_CASE_FIXTURE(ExecutorFixture, "a loop ends at the deadline, not much later") {
  const LaneSlot slot = worker.load(test_function("loops"));
  const auto start = std::chrono::steady_clock::now();
  const auto reply = worker.call(slot, "", 200ms);
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(reply.outcome == Outcome::deadline_exceeded);
  CHECK(took >= 200ms);
  CHECK(took < 2200ms);
  check_next_call();
}

#ifndef ORCHID_SANITIZED  // whose allocator ends the process itself
TEST_CASE_FIXTURE(ExecutorFixture,
                  "memory without end is limit_exceeded, whether the function looks or not") {
  for (const char* function : {"allocates_new", "allocates_malloc"}) {
    CAPTURE(function);
    const auto reply = call(function);
    CHECK(reply.outcome == Outcome::limit_exceeded);
    CHECK(contains(reply.message, "memory"));
    if (reply.ended) continue;  // it has crashed
    // What it has not given back costs the worker, not the next call.
    const auto ended = worker.receive();
    REQUIRE(std::holds_alternative<LaneEnded>(ended));
    CHECK(contains(std::get<LaneEnded>(ended).message, "no memory left"));
    CHECK(std::holds_alternative<LaneClaimed>(worker.receive()));
  }
  check_next_call();
}
#endif

TEST_CASE_FIXTURE(ExecutorFixture,
                  "output over the limit is limit_exceeded, whether the function looks or not") {
  for (const char* function : {"output_over_limit", "output_unchecked"}) {
    CAPTURE(function);
    const auto reply = call(function);
    CHECK(reply.outcome == Outcome::limit_exceeded);
    CHECK(contains(reply.message, "output"));
  }
  check_next_call();
  CHECK(call("output_big", "67108864").output.size() == 67'108'864);
}

TEST_CASE_FIXTURE(ExecutorFixture, "exit is an outcome with its status") {
  const auto reply = call("exits");
  CHECK(reply.outcome == Outcome::function_exited);
  CHECK(reply.exit_status == 7);
  CHECK(reply.message == "the function called exit(7)");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "no process can be forked, also past the list of symbols") {
  const auto reply = call("forks_by_syscall");
  CHECK(reply.outcome == Outcome::ok);
  CHECK(reply.output != "0");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "a large answer arrives, though its worker ends with it") {
  const LaneSlot slot = worker.load(test_function("answers_much_and_leaves_thread"));
  for (int i = 0; i < 5; ++i) {
    const auto reply = i == 0 ? worker.call(slot, "") : call("answers_much_and_leaves_thread");
    CHECK_MESSAGE(reply.outcome == Outcome::ok, reply.message);
    CHECK(reply.output.size() == std::size_t{48} << 20);
    check_replaced("thread");
  }
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a thread that is left running costs the worker, not the answer") {
  for (const char* function : {"leaves_thread", "clones_thread_by_syscall"}) {
    CAPTURE(function);
    const auto reply = call(function);
    CHECK(reply.outcome == Outcome::ok);
    CHECK_FALSE(reply.ended);
    check_replaced("thread");
    check_next_call();
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "what is shared with others cannot be changed") {
  CHECK(call("sets_descriptor_flags").output == "refused");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "mappings that no limit counts are refused") {
  CHECK(call("maps_growing_stack").output == "refused");
  check_next_call();
}

#ifndef ORCHID_SANITIZED  // the thread sanitizer starts a thread of its own beside the first
TEST_CASE_FIXTURE(ExecutorFixture, "threads without end are stopped") {
  const auto reply = call("bombs_threads", "", enough_for_threads);
  CHECK(reply.outcome == Outcome::limit_exceeded);
  CHECK(contains(reply.message, "threads"));
  check_next_call();
}
#endif

TEST_CASE_FIXTURE(ExecutorFixture, "a function that writes to the worker's own socket is ended") {
  const auto flood = call("floods_control_socket");
  CHECK(flood.outcome == Outcome::function_crashed);
  CHECK(contains(flood.message, "broke the rules of its sandbox"));
  check_next_call();
  for (const char* function : {"sends_empty_packet", "sends_descriptors"}) {
    CAPTURE(function);
    const auto reply = call(function);
    CHECK(reply.outcome == Outcome::function_crashed);
    CHECK(contains(reply.message, "the worker's own socket"));
    check_next_call();
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "a signal that a function sends itself is its own doing") {
  for (const int signal : {SIGHUP, SIGINT, SIGSEGV, SIGABRT, SIGFPE, SIGUSR1, SIGRTMIN}) {
    CAPTURE(signal);
    const auto reply = call("signals_itself", std::to_string(signal));
    CHECK(reply.outcome == Outcome::function_crashed);
    CHECK(reply.signal == signal);
    CHECK(contains(reply.message, ::strsignal(signal)));
    CHECK_FALSE(contains(reply.message, "address"));  // it was no fault
    check_next_call();
  }
  for (const int signal : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    CAPTURE(signal);
    const auto reply = call("signals_itself", std::to_string(signal));
    CHECK(reply.outcome == Outcome::ok);
    CHECK(reply.output == "refused");
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "last words that are not true are the function's doing") {
  for (const auto words :
       {executor::LastWords::signal, executor::LastWords::spoiled, executor::LastWords::failed}) {
    const auto number = std::to_string(static_cast<unsigned>(words));
    CAPTURE(number);
    const auto reply = call("forges_last_words", number);
    // A lane between hosts may have broken, which is nobody's fault.
    const bool is_told =
        words != executor::LastWords::failed || lane_under_test() == LaneKind::local;
    const Outcome told = is_told ? Outcome::function_crashed : Outcome::worker_lost;
    CHECK(reply.outcome == told);
    CHECK(contains(reply.message, "broke the rules of its sandbox") == is_told);
    CHECK(reply.signal == 0);
    check_next_call();
    const auto idle = call("forges_last_words", number + " idle");
    CHECK(idle.outcome == told);
    CHECK(contains(idle.message, "broke the rules of its sandbox") == is_told);
    check_next_call();
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "a limit is told as it is, whatever a function wrote over it") {
  if (lane_under_test() != LaneKind::local) return;  // others have less room than it asks for
  const auto reply = call("forges_terms");
  CHECK(reply.outcome == Outcome::limit_exceeded);
  CHECK(contains(reply.message, "over the limit of 64 MiB"));
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "an eventfd that is full costs the worker, which burns no core") {
  if (lane_under_test() != LaneKind::local) return;  // no other lane has these
  CHECK(call("fills_eventfd", "4").outcome == Outcome::ok);
  check_replaced("eventfd");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "the worker's code cannot be written to") {
  const auto reply = call("patches_worker");
  CHECK(reply.outcome == Outcome::function_crashed);
  CHECK(reply.signal == SIGSEGV);
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "a module whose initialiser does not end is refused in time") {
  const auto check_refused = [&](std::optional<std::chrono::milliseconds> time_left) {
    CHECK_THROWS_WITH_AS((void)worker.load(test_function("endless_initialiser"), time_left),
                         doctest::Contains("static initialiser"), std::runtime_error);
    REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
    REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  };
  check_refused(100ms);  // its code is made beforehand, so that only the load counts
  const auto start = std::chrono::steady_clock::now();
  check_refused({});
  CHECK(std::chrono::steady_clock::now() - start < limits::load_time + 3s);
  check_next_call();
}

#ifndef ORCHID_SANITIZED
TEST_CASE_FIXTURE(ExecutorFixture, "threads that have ended with their call cost nothing") {
  CHECK(call("joins_threads").output == "4");
  CHECK(call("joins_threads").output == "4");
  CHECK(call("counts_calls").outcome == Outcome::ok);
}
#endif

TEST_CASE_FIXTURE(ExecutorFixture, "nothing can be opened or looked at, by no flag") {
  CHECK(call("opens_by_path_flag").output == "0 0");
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture, "no file can be opened") {
  CHECK(call("opens_file").output != "opened");
  CHECK(call("opens_file", "/proc/self/maps").output != "opened");
  check_next_call();
}

TEST_CASE("a tree that the site made readable can be read, and nothing beside it") {
  TemporaryDirectory directory;
  LocalExecutor executor({.programs = PROGRAMS, .readable_paths = {"/usr/share/common-licenses"}});
  WorkerClient worker(executor);
  const LaneSlot slot = worker.load(test_function("opens_file"));
  CHECK(worker.call(slot, "/usr/share/common-licenses/GPL-3").output == "opened");
  CHECK(worker.call(slot, "/etc/passwd").output != "opened");
}

TEST_CASE_FIXTURE(ExecutorFixture, "descriptors cannot be closed under the worker") {
  for (const char* function : {"closes_descriptors", "closes_descriptors_by_syscall"}) {
    CAPTURE(function);
    CHECK(call(function).outcome == Outcome::ok);
    CHECK(call("counts_calls").outcome == Outcome::ok);
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "what a call changes does not reach the next one") {
  for (int i = 0; i < 2; ++i) {
    CHECK(call("changes_rounding").output == "0");
    CHECK(call("changes_signal_mask").output == "clean");
  }
  const auto first = call("changes_directory").output;
  CHECK(call("changes_directory").output == first);
}

TEST_CASE_FIXTURE(ExecutorFixture, "logs belong to their call, whichever way they were written") {
  CHECK(call("logs_unflushed", "one").log == "unflushed one");
  CHECK(call("counts_calls").log.empty());
  CHECK(call("logs_unflushed", "two").log == "unflushed two");
  CHECK(call("logs_cout", "x").log == "by cout: x\n");
  CHECK(call("logs_write").log == "by write\n");
  CHECK(call("logs_stderr").log == "by stderr\nby orchid_log\n");
}

TEST_CASE_FIXTURE(ExecutorFixture, "a gigabyte of logs is cut at the limit and counted") {
  const auto reply = call("logs_gigabyte", "", 60s);
  CHECK(reply.outcome == Outcome::ok);
  CHECK(reply.log.size() == limits::log_size.value);
  CHECK(reply.log.size() + reply.log_dropped >= 1'000'000'000);
  check_next_call();
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a module whose initialiser crashes is refused, without a storm of forks") {
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH_AS((void)worker.load(test_function("crashes_on_load")),
                         doctest::Contains("loading the module"), std::runtime_error);
    if (i > 0) continue;  // it is known by then
    REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
    REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  }
  CHECK(executor.births() < 12);
  check_next_call();
}

}  // namespace orchid::tests
