// Births: calls start no process, replacements wait for none.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "executor_fixture.h"
#include "memory_calls.h"

namespace orchid::tests {
namespace {

/// How many processes this machine has forked since it started.
std::uint64_t forks_so_far() {
  std::ifstream file("/proc/stat");
  std::string word;
  while (file >> word)
    if (word == "processes") {
      std::uint64_t count = 0;
      file >> count;
      return count;
    }
  return 0;
}

#ifndef ORCHID_SANITIZED  // whose allocator is not the C library's
/// "AnonHugePages:    65536 kB" of a process.
std::uint64_t huge_kibibytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
  std::string word;
  std::uint64_t size = 0;
  while (file >> word)
    if (word == "AnonHugePages:") file >> size;
  return size;
}

bool kernel_has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string settings;
  std::getline(file, settings);
  return !settings.empty() && settings.find("[never]") == std::string::npos;
}
#endif

void check_has_128_mib(LocalExecutor& executor) {
  WorkerClient worker(executor, lane_under_test());
  const LaneSlot slot = worker.load(test_function("fills_memory"));
  CHECK(worker.call(slot, "126 0").outcome == Outcome::ok);
  CHECK(worker.call(slot, "160 0").outcome != Outcome::ok);
}

}  // namespace

#ifndef ORCHID_SANITIZED
TEST_CASE_FIXTURE(ExecutorFixture, "large blocks of memory have large pages, which go at once") {
  if (!kernel_has_huge_pages()) {
    MESSAGE("not tested: this kernel has no large pages");
    return;
  }
  REQUIRE(call("holds_memory", "64 0").outcome == Outcome::ok);
  CHECK(huge_kibibytes(worker.pid()) >= 60 * 1024);
}
#endif

TEST_CASE_FIXTURE(ExecutorFixture, "a function has no environment") {
  for (const char* name : {"PATH", "HOME", "GLIBC_TUNABLES"})
    CHECK(call("reads_environment", name).output == "none");
}

TEST_CASE_FIXTURE(ExecutorFixture, "a thousand calls start no process") {
  const LaneSlot slot = worker.load(test_function("counts_calls"));
  REQUIRE(eventually([&] { return executor.has_all_spare_workers(); }));
  const auto births = executor.births();
  const auto forks = forks_so_far();
  REQUIRE(forks > 0);
  for (int i = 0; i < 1000; ++i) REQUIRE(worker.call(slot, "").output == std::to_string(i + 1));
  CHECK(executor.births() == births);
  // Whatever else this machine does in these milliseconds, it does not start a process per call.
  CHECK(forks_so_far() - forks < 500);
}

TEST_CASE("a function can have all the memory of its worker, whatever the lane needs") {
  LocalExecutor executor({.programs = PROGRAMS,
                          .worker_memory = 128_MiB,
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()});
  check_has_128_mib(executor);
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a running worker has no rights, no threads and few descriptors") {
  const LaneSlot slot = worker.load(test_function("counts_calls"));
  REQUIRE(worker.call(slot, "").outcome == Outcome::ok);
  const std::filesystem::path process = "/proc/" + std::to_string(worker.pid());
  std::ifstream file(process / "status");
  const std::string status(std::istreambuf_iterator<char>(file), {});
  const bool local = lane_under_test() == LaneKind::local;  // UCX has a thread and sockets
  for (const char* line :
       {"CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n",
        "Seccomp:\t2\n", local ? "Threads:\t1\n" : "Threads:\t2\n"}) {
    CAPTURE(line);
    CHECK(contains(status, line));
  }
  const std::filesystem::directory_iterator descriptors(process / "fd");
  const auto count = std::distance(begin(descriptors), end(descriptors));
  if (local) CHECK(count == 11);
  CHECK(count < 40);
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "after a kill the replacement is a worker that was there before it") {
  if (lane_under_test() != LaneKind::local) return;  // of those one at most is kept ahead
  int made_before = 0;
  constexpr int kills = 21;
  for (int i = 0; i < kills; ++i) {
    REQUIRE(worker.call(worker.load(test_function("counts_calls")), "").outcome == Outcome::ok);
    const auto births = executor.births();
    REQUIRE(::kill(worker.pid(), SIGKILL) == 0);
    REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
    const LaneMessage message = worker.receive();
    const auto* claimed = std::get_if<LaneClaimed>(&message);
    REQUIRE(claimed != nullptr);
    // Workers are numbered from 1 as they are born.
    if (claimed->worker <= births) ++made_before;
  }
  CHECK(made_before > kills / 2);
}

TEST_CASE_FIXTURE(
    ExecutorFixture,
    "a function that always crashes is slowed down, not forked for as fast as it is called") {
  const LaneSlot first = worker.load(test_function("exits"));
  (void)first;
  const auto start = std::chrono::steady_clock::now();
  constexpr int crashes = 40;
  for (int i = 0; i < crashes; ++i) REQUIRE(call("exits").outcome == Outcome::function_exited);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  using Brake = executor::ReplacementBrake;
  CHECK(took.count() >= (crashes - Brake::burst - 1) / Brake::per_second - took.count());
  CHECK(executor.births() <= crashes + 4);
}

TEST_CASE_FIXTURE(ExecutorFixture, "UCX leaves a worker's mmap and its kin as they are") {
  REQUIRE(call("counts_calls").outcome == Outcome::ok);
  const auto calls = memory_calls_of(worker.pid());
  if (!calls) {
    MESSAGE("skipped: only root may read a worker's memory");
    return;
  }
  CHECK(calls->has_ucx == (lane_under_test() != LaneKind::local));
  CHECK(calls->changed.empty());
}

#ifndef ORCHID_SANITIZED  // where threads are not ended as fast as they come
TEST_CASE_FIXTURE(ExecutorFixture, "a worker runs on the core of its lease, with all its threads") {
  cpu_set_t ours;
  REQUIRE(::sched_getaffinity(0, sizeof(ours), &ours) == 0);
  if (!CPU_ISSET(0, &ours)) {
    MESSAGE("not tested: the first core is not ours");
    return;
  }
  const LaneSlot slot = worker.load(test_function("bombs_threads"));
  (void)worker.start(slot, "", enough_for_threads);
  const std::filesystem::path threads = "/proc/" + std::to_string(worker.pid()) + "/task";
  int most = 0;
  // The first lease has the first core.
  const auto all_bound = [&] {
    int count = 0;
    std::error_code gone;
    for (std::filesystem::directory_iterator at(threads, gone), end; !gone && at != end;
         at.increment(gone)) {
      cpu_set_t its;
      if (::sched_getaffinity(std::stoi(at->path().filename()), sizeof(its), &its) != 0) continue;
      if (CPU_COUNT(&its) != 1 || !CPU_ISSET(0, &its)) return false;
      most = std::max(most, ++count);
    }
    return true;
  };
  CHECK(eventually([&] { return !all_bound() || most >= 20; }));
  CHECK(all_bound());
  CHECK(most >= 20);
  CHECK(worker.finish().outcome == Outcome::limit_exceeded);
}
#endif

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a worker that keeps much memory and is not called is replaced") {
  REQUIRE(call("holds_memory", "300 0").outcome == Outcome::ok);
  check_replaced("of memory while nobody called");
  check_next_call();
}

TEST_CASE("a worker has the memory that its lease says, less or more than it is born with") {
  LocalExecutor executor({.programs = PROGRAMS,
                          .worker_memory = 64_MiB,
                          .lease_memory = 128_MiB,
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()});
  check_has_128_mib(executor);
}

TEST_CASE_FIXTURE(ExecutorFixture, "bitcode links and runs, however position independent it is") {
  for (const char* name :
       {"through_got", "through_got_pic", "through_got_fixed", "through_got_no_plt"}) {
    CAPTURE(std::string(name));
    const LaneSlot slot = worker.load(test_function(name));
    for (const char* expected : {"5 ok", "6 ok"}) {
      const auto reply = worker.call(slot, "");
      CHECK_MESSAGE(reply.outcome == Outcome::ok, reply.output);
      CHECK(reply.output == expected);
    }
  }
}

TEST_CASE_FIXTURE(ExecutorFixture, "globals live as long as the worker; initialisers run once") {
  const LaneSlot slot = worker.load(test_function("initialisers"));
  CHECK(worker.call(slot, "").output == "1 1 1");
  CHECK(worker.call(slot, "").output == "1 2 2");
}

TEST_CASE_FIXTURE(ExecutorFixture, "an idle relay lets its worker give large payloads' room back") {
  if (lane_under_test() != LaneKind::relayed) return;  // else the lane's own client says when
  const auto resident_mib = [&] {
    std::ifstream file("/proc/" + std::to_string(worker.pid()) + "/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) >> 20;
  };
  const std::string large(std::size_t{60} << 20, 'x');
  const LaneSlot slot = worker.load(std::filesystem::path(EXAMPLES) / "echo.bc");
  CHECK(worker.call(slot, large, std::chrono::seconds(60)).output.size() == large.size());
  CHECK(resident_mib() > 100);
  CHECK(eventually([&] { return resident_mib() < 60; }));
  CHECK(worker.call(slot, "and on").output == "and on");
}

TEST_CASE_FIXTURE(ExecutorFixture, "how far a call is, its caller sees while it runs") {
  const LaneSlot slot = worker.load(test_function("says_progress"));
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t request = worker.start(slot, "");
    CHECK(eventually([&] { return worker.progress(request) == 0.5; }));
    worker.cancel(request);
    CHECK(worker.finish().output == "stopped");
  }
  if (lane_under_test() != LaneKind::ucx) return;
  // Between hosts it is told: once, though the function says it again and again, and only to who
  // knows it.
  CHECK(worker.progress_notes().size() == 2);
  CHECK(worker.call(slot, "", std::chrono::milliseconds(500)).outcome ==
        Outcome::deadline_exceeded);
  CHECK(worker.progress_notes().size() == 3);
  WorkerClient old(executor, LaneKind::ucx, executor.open_lease());
  const LaneSlot there = old.load(test_function("says_progress"));
  CHECK(old.call(there, "", std::chrono::milliseconds(500)).outcome == Outcome::deadline_exceeded);
  CHECK(old.progress_notes().empty());
}

TEST_CASE_FIXTURE(ExecutorFixture,
                  "a call to a slot that holds nothing is answered need_code, and runs nothing") {
  const LaneSlot slot = worker.load(test_function("counts_calls"));
  const auto check_refused = [&](const LaneSlot& wrong, std::uint16_t entry) {
    (void)worker.start(wrong, "", std::chrono::seconds(10), entry);
    std::optional<transport::LaneResponse> response;
    while (!response) response = worker.lane().receive().value();
    CHECK(response->kind == ResponseKind::need_code);
    worker.lane().release(*response);
  };
  LaneSlot wrong = slot;
  ++wrong.generation;
  check_refused(wrong, 0);
  for (const std::uint32_t number : {slot.slot + 1, 1U << 16, ~0U}) {
    wrong = slot;
    wrong.slot = number;
    check_refused(wrong, 0);
  }
  check_refused(slot, 1);
  check_refused(slot, 0xffff);
  CHECK(worker.call(slot, "").output == "1");
}

}  // namespace orchid::tests
