// Leased memory that functions use: real workers, depots and memory processes, with the test in the
// gateway's place.
#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor_fixture.h"

namespace orchid::tests {
namespace {

using std::chrono::seconds;

constexpr LeaseId lease_here{3, 1};
constexpr LeaseId lease_there{3, 2};
constexpr LeaseId lease_of_others{3, 3};
constexpr seconds long_enough{30};

/// A lease of memory of that executor, as its gateway would order it; what it says of it.
MemoryLeased take_memory(LocalExecutor& executor, LeaseId lease, ByteCount bytes,
                         std::uint32_t tenant = ::geteuid()) {
  executor.with_memory([&](executor::MemoryLeases& leases) {
    leases.obey(LeaseMemory{.lease = lease,
                            .tenant = {tenant, "test"},
                            .bytes = bytes,
                            .key = std::string(32, 'a'),
                            .wait = WaitMode::adaptive,
                            .expires_in = seconds(600)});
  });
  std::optional<MemoryLeased> leased;
  REQUIRE(eventually([&] {
    for (const ControlMessage& message : executor.with_data([](executor::DataService&) {}))
      if (const auto* one = std::get_if<MemoryLeased>(&message)) leased = *one;
    return leased.has_value();
  }));
  return *leased;
}

struct MemoryInCalls : ExecutorFixture {
  MemoryInCalls() {
    executor.be_gateway([this](const ControlMessage& message) { return hear(message); });
  }
  ~MemoryInCalls() { executor.be_gateway({}); }
  MemoryInCalls(const MemoryInCalls&) = delete;
  MemoryInCalls& operator=(const MemoryInCalls&) = delete;

  /// What a gateway knows of leases of other executors.
  void know(LeaseId lease, const MemoryLeased& leased, ByteCount bytes) {
    const std::lock_guard lock(mutex_);
    known_ =
        MemoryFound{.address = leased.address, .key = leased.key, .bytes = bytes, .host = "n17"};
    known_lease_ = lease;
  }
  WorkerClient::Reply act(LeaseId lease, const std::string& words) {
    return call("uses_memory", to_string(lease) + " " + words, long_enough);
  }
  /// Who serves a memory does so where nobody else wants to: on a busy machine a call may have to
  /// be made again, as its error says.
  void check(LeaseId lease, const std::string& words, const std::string& output) {
    check(act(lease, words), lease, words, output);
  }
  /// `reply`: of the first time.
  void check(WorkerClient::Reply reply, LeaseId lease, const std::string& words,
             const std::string& output) {
    (void)eventually([&] {
      const bool is_reached = !contains(reply.message, "is not to be reached");
      if (!is_reached) reply = act(lease, words);
      return is_reached;
    });
    CHECK_MESSAGE(reply.outcome == Outcome::ok, words << ": " << reply.message);
    CHECK_MESSAGE(reply.output == output, words << ": " << reply.output);
  }
  void check_fails(LeaseId lease, const std::string& words, const std::string& why) {
    const auto reply = act(lease, words);
    CHECK(reply.outcome == Outcome::function_error);
    CHECK_MESSAGE(contains(reply.message, why), words << ": " << reply.message);
  }
  /// Starts a call that goes on until something happens, and waits until it is at that.
  void begin(LeaseId lease, const std::string& words) {
    const LaneSlot slot = worker.load(test_function("uses_memory"));
    const std::uint64_t request = worker.start(slot, to_string(lease) + " " + words, long_enough);
    REQUIRE(eventually([&] { return worker.progress(request).value_or(0) > 0; }));
  }
  WorkerClient::Reply finish() { return worker.finish(); }
  void end(LeaseId lease) {
    executor.with_memory([&](executor::MemoryLeases& leases) { leases.obey(EndMemory{lease}); });
  }
  /// The processes that serve or reach memory.
  std::vector<pid_t> memory_processes() {
    std::vector<pid_t> pids = executor.children();
    std::erase_if(pids, [](pid_t pid) {
      std::error_code error;
      const auto program =
          std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
      return error || program.filename() != "orchid-memory";
    });
    return pids;
  }
  /// Of these the one that goes to a memory; a server runs where nobody else wants to.
  pid_t way() {
    std::vector<pid_t> pids = memory_processes();
    std::erase_if(pids, [](pid_t pid) { return ::sched_getscheduler(pid) == SCHED_IDLE; });
    return pids.size() == 1 ? pids.front() : -1;
  }

 private:
  std::optional<ControlMessage> hear(const ControlMessage& message) {
    const auto* question = std::get_if<FindMemory>(&message);
    if (question == nullptr) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (question->lease != known_lease_ || question->tenant.uid != ::geteuid())
      return MemoryNotFound{question->question, ErrorCode::not_found, "there is no such lease"};
    MemoryFound found = known_;
    found.question = question->question;
    return found;
  }

  std::mutex mutex_;
  LeaseId known_lease_;
  MemoryFound known_;
};

}  // namespace

TEST_CASE_FIXTURE(MemoryInCalls, "a function reads and writes leased memory, and finds it later") {
  take_memory(executor, lease_here, 8_MiB);
  check(lease_here, "compare 0 8388608 0", "same");  // zeros
  for (const char* place : {"0 1", "1 8", "65535 2", "7 70000", "100 3000000"}) {
    check(lease_here, std::string("put ") + place + " 5", "put");
    check(lease_here, std::string("compare ") + place + " 5", "same");
  }
  check(lease_here, "put 0 16 0", "put");
  check(lease_here, "add 8 5", "0");
  check(lease_here, "add 8 7", "5");
  check(lease_here, "swap 8 12 100", "12");
  check(lease_here, "swap 8 12 200", "100");
  check(lease_here, "add 8 0", "100");
  check(lease_here, "fence", "8388608");
  check_next_call();
  CHECK(eventually([&] { return memory_processes().size() == 1; }));  // calls leave none
}

TEST_CASE_FIXTURE(MemoryInCalls, "a function asks for much at once, in rows, and for later") {
  take_memory(executor, lease_here, 8_MiB);
  check(lease_here, "batch 7 200 3", "same");
  check(lease_here, "compare 7 819200 3", "same");
  check(lease_here, "column 16 8000 4", "same");
  check(lease_here, "later 5 100 6", "same");
  check(lease_here, "later 5 5000000 7", "same");
  check(lease_here, "compare 5 5000000 7", "same");
  check_fails(lease_here, "batch 8380416 3 3", "not within the memory");
  check(lease_here, "compare 8380416 8192 0", "same");  // none of it was done
  check_fails(lease_here, "column 16 9000 4", "not within the memory");
  const auto in_cpp = call("uses_memory_in_rows", to_string(lease_here), long_enough);
  CHECK_MESSAGE(in_cpp.output == "same", in_cpp.message);
}

TEST_CASE_FIXTURE(MemoryInCalls, "the memory of another executor is found by the gateway") {
  LocalExecutor other{{.programs = PROGRAMS}};
  know(lease_there, take_memory(other, lease_there, 1_MiB), 1_MiB);
  check(lease_there, "both 1000 100000 9", "same");
}

TEST_CASE_FIXTURE(MemoryInCalls, "what is not within the memory is refused, and nothing is done") {
  take_memory(executor, lease_here, 1_MiB);
  check(lease_here, "put 1048560 16 3", "put");
  check(lease_here, "put 1048576 0 1", "put");
  for (const char* words : {"put 1048561 16 1", "compare 1048576 1 1", "put 1048581 8 1",
                            "compare 18446744073709551612 8 1", "put 0 1048577 1"})
    check_fails(lease_here, words, "bad_request");
  check_fails(lease_here, "add 1048576 1", "not within the memory");
  check_fails(lease_here, "add 4 1", "multiple of 8");
  check(lease_here, "compare 0 1048560 0", "same");
  check(lease_here, "compare 1048560 16 3", "same");
}

TEST_CASE_FIXTURE(MemoryInCalls, "a lease that is not the tenant's, or none, is none") {
  take_memory(executor, lease_of_others, 1_MiB, ::geteuid() + 1);
  check_fails(lease_of_others, "compare 0 8 0", "not_found");
  check_fails(lease_there, "compare 0 8 0", "not_found");
  const auto rubbish = call("uses_memory", "weather fence");
  CHECK(rubbish.outcome == Outcome::function_error);
  CHECK_MESSAGE(contains(rubbish.message, "the id of its lease"), rubbish.message);
  check_next_call();
}

TEST_CASE_FIXTURE(MemoryInCalls, "a lease that ends in the middle gives no bytes any more") {
  take_memory(executor, lease_here, 1_MiB);
  begin(lease_here, "get_for_ever 0");
  end(lease_here);
  const auto reading = finish();
  CHECK(reading.outcome == Outcome::function_error);
  CHECK_MESSAGE(contains(reading.message, "lease_ended"), reading.message);
  check_fails(lease_here, "compare 0 8 0", "not_found");
  take_memory(executor, lease_there, 1_MiB);
  begin(lease_there, "add_for_ever 0");
  end(lease_there);
  const auto adding = finish();
  CHECK(adding.outcome == Outcome::function_error);
  CHECK_MESSAGE(
      (contains(adding.message, "outcome_unknown") || contains(adding.message, "lease_ended")),
      adding.message);
  check_next_call();
}

TEST_CASE_FIXTURE(MemoryInCalls, "a killed or stopped process that serves the memory is its end") {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    CAPTURE(signal);
    const LeaseId lease{4, static_cast<std::uint64_t>(signal)};
    take_memory(executor, lease, 1_MiB);
    const std::vector<pid_t> serving = memory_processes();
    REQUIRE(serving.size() == 1);
    begin(lease, "get_for_ever 0");
    REQUIRE(::kill(serving.front(), signal) == 0);
    const auto reply = finish();
    CHECK(reply.outcome == Outcome::function_error);
    CHECK_MESSAGE(contains(reply.message, "lease_ended"), reply.message);
    check_fails(lease, "compare 0 8 0", "not_found");
    CHECK(eventually([&] { return memory_processes().empty(); }));
  }
}

TEST_CASE_FIXTURE(MemoryInCalls, "a killed or stopped process that goes there costs the way only") {
  take_memory(executor, lease_here, 1_MiB);
  check(lease_here, "put 0 1000 7", "put");
  for (const int signal : {SIGKILL, SIGSTOP}) {
    for (const char* words : {"get_for_ever 0", "add_for_ever 8000", "again 0"}) {
      CAPTURE(signal);
      CAPTURE(words);
      begin(lease_here, words);
      pid_t going = -1;
      REQUIRE(eventually([&] { return (going = way()) > 0; }));
      REQUIRE(::kill(going, signal) == 0);
      const auto reply = finish();
      if (words[0] == 'g') CHECK_MESSAGE(contains(reply.message, "unreachable"), reply.message);
      if (words[0] == 'g') CHECK_MESSAGE(contains(reply.message, "open the memory"), reply.message);
      if (words[1] == 'd')
        CHECK_MESSAGE(
            (contains(reply.message, "outcome_unknown") || contains(reply.message, "unreachable")),
            reply.message);
      if (words[1] == 'g') CHECK_MESSAGE(reply.output == "again", reply.message);
    }
  }
  check(lease_here, "compare 0 1000 7", "same");
}

TEST_CASE_FIXTURE(MemoryInCalls, "a depot that is killed while memory is opened costs nothing") {
  take_memory(executor, lease_here, 1_MiB);
  check(lease_here, "put 0 8 4", "put");
  const LaneSlot slot = worker.load(test_function("uses_memory"));
  for (int round = 0; round < 4; ++round) {
    (void)worker.start(slot, to_string(lease_here) + " compare 0 8 4", long_enough);
    if (const pid_t depot = executor.depot(); depot > 0)
      ::kill(depot, round % 2 == 0 ? SIGKILL : SIGSTOP);
    check(finish(), lease_here, "compare 0 8 4", "same");
  }
}

TEST_CASE_FIXTURE(MemoryInCalls, "a call that ends, however it does, takes its processes along") {
  take_memory(executor, lease_here, 1_MiB);
  const LaneSlot slot = worker.load(test_function("uses_memory"));
  (void)worker.call(slot, to_string(lease_here) + " get_for_ever 0",
                    seconds(1));  // its deadline ends it
  CHECK(eventually([&] { return memory_processes().size() == 1; }));
  begin(lease_here, "get_for_ever 0");
  REQUIRE(::kill(worker.pid(), SIGKILL) == 0);
  CHECK(finish().ended);
  CHECK(eventually([&] { return memory_processes().size() == 1; }));
  check(lease_here, "compare 0 8 0", "same");
}

}  // namespace orchid::tests
