// Leases whose modules have processes of their own.
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

/// Who answered: a process, and how many calls of that module it has run.
struct Answerer {
  long pid = 0;
  unsigned long count = 0;
};
Answerer answerer_of(const Reply& reply) {
  std::istringstream text{std::string(reply.text())};
  Answerer who;
  text >> who.pid >> who.count;
  return who;
}

/// What one module's calls have seen.
struct Seen {
  std::map<long, unsigned long> counts;  // by process
  unsigned answers = 0;
  void note(const Answerer& who) {
    ++answers;
    unsigned long& count = counts[who.pid];
    CHECK(who.count == ++count);  // no call was run twice, and none by anybody else
  }
};
void check_separate(const Seen& one, const Seen& other) {
  for (const auto& [pid, count] : one.counts) CHECK_FALSE(other.counts.contains(pid));
}

struct SeparateLeaseFixture : LeaseFixture {
  void take_separate(unsigned workers, Wait wait = Wait::adaptive) {
    take({.workers = workers, .wait = wait, .separate_processes = true});
  }
};

}  // namespace

TEST_CASE_FIXTURE(SeparateLeaseFixture,
                  "two modules that are called in turn share no process, whatever the workers") {
  for (const unsigned workers : {1U, 2U}) {
    CAPTURE(workers);
    take_separate(workers);
    const LeasedFunction first = load("counts_in_process");
    const LeasedFunction second = load("counts_in_process_again");
    Seen one;
    Seen other;
    for (int i = 0; i < 10; ++i) {
      one.note(answerer_of(first.invoke("")));
      other.note(answerer_of(second.invoke("")));
    }
    check_separate(one, other);
    if (workers == 1) CHECK(one.counts.size() >= 9);
    // With a worker for each of them, none is swapped.
    if (workers == 2) CHECK((one.counts.size() == 1 && other.counts.size() == 1));
  }
  CHECK(executor.counter("workers_worker_lost") == 0);
}

TEST_CASE_FIXTURE(SeparateLeaseFixture, "a lease that does not ask for it shares its workers") {
  const Answerer first = answerer_of(load("counts_in_process").invoke(""));
  const Answerer second = answerer_of(load("counts_in_process_again").invoke(""));
  CHECK(first.pid == second.pid);
  CHECK(executor.counter("workers_swapped") == 0);
}

TEST_CASE_FIXTURE(SeparateLeaseFixture,
                  "many threads that call two modules all get their answers, from separate "
                  "processes") {
  for (const Wait wait : {Wait::adaptive, Wait::blocking}) {
    take_separate(2, wait);
    const LeasedFunction functions[] = {load("counts_in_process"), load("counts_in_process_again")};
    std::array<std::set<long>, 2> pids;
    std::array<std::atomic<unsigned>, 2> answers{};
    std::mutex mutex;
    {
      std::vector<std::jthread> callers;
      for (unsigned caller = 0; caller < 6; ++caller)
        callers.emplace_back([&, caller] {
          // Two of three call the first module only; the others both in turn.
          for (unsigned i = 0; i < 60; ++i) {
            const unsigned which = caller % 3 == 0 ? i % 2 : 0;
            const Answerer who = answerer_of(functions[which].invoke(""));
            ++answers[which];
            const std::lock_guard lock(mutex);
            pids[which].insert(who.pid);
          }
        });
    }
    CHECK(answers[0] + answers[1] == 360);
    for (const long pid : pids[0]) CHECK_FALSE(pids[1].contains(pid));
  }
}

TEST_CASE_FIXTURE(SeparateLeaseFixture,
                  "a call of another module has its turn though one module is called without end") {
  take_separate(1);
  const LeasedFunction busy = load("counts_in_process");
  const LeasedFunction rare = load("counts_in_process_again");
  std::atomic<bool> enough{false};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 2; ++i)
    callers.emplace_back([&] {
      while (!enough) (void)busy.invoke("");
    });
  for (int i = 0; i < 3; ++i)
    CHECK(answerer_of(rare.invoke("", {.deadline = seconds(10)})).pid != 0);
  const LeasedFunction late = load("reports_pid");  // a module that is loaded meanwhile, too
  enough = true;
  callers.clear();
  CHECK(late.invoke("").text() != "");
}

TEST_CASE_FIXTURE(SeparateLeaseFixture, "a call in a lane is not swapped away") {
  take_separate(1);
  const LeasedFunction sleeps = load("sleeps");
  const LeasedFunction other = load("counts_in_process");
  const ReplyFuture running = sleeps.async("300", {.at_most_once = true});
  CHECK_FALSE(running.wait_for(milliseconds(50)));
  CHECK(answerer_of(other.invoke("")).count == 1);
  CHECK(running.get().text() == "300");
}

TEST_CASE_FIXTURE(SeparateLeaseFixture,
                  "calls of one module take all workers that no other module has") {
  take_separate(3);
  const LeasedFunction sleeps = load("sleeps");
  std::vector<ReplyFuture> running;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) running.push_back(sleeps.async("1000"));
  for (const ReplyFuture& each : running) CHECK(each.get().text() == "1000");
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(2'900));
}

TEST_CASE_FIXTURE(SeparateLeaseFixture,
                  "map, inputs in a lane and answers in place work with swaps in between") {
  take_separate(1);
  const LeasedFunction counts = load("counts_in_process");
  const LeasedFunction echo = load(example("echo"));
  Buffer buffer = lease.buffer(4);  // in the lane of a worker that has another module then
  (void)counts.invoke("");
  std::memcpy(buffer.bytes().data(), "lane", 4);
  CHECK(echo.invoke(std::move(buffer)).text() == "lane");
  const std::vector<std::vector<std::byte>> inputs(100);
  for (const Reply& reply : lease.map(counts, inputs)) CHECK(answerer_of(reply).pid != 0);
  CHECK(echo.invoke("again").text() == "again");
  const Output held = echo.invoke_in_place(as_bytes("held"));
  (void)counts.invoke("");  // its worker goes
  CHECK(as_text(held.bytes()) == "held");
}

TEST_CASE_FIXTURE(SeparateLeaseFixture, "a module that cannot be loaded does not hold up others") {
  take_separate(1);
  const LeasedFunction counts = load("counts_in_process");
  CHECK(answerer_of(counts.invoke("")).count == 1);
  CHECK_THROWS_AS((void)load("throws_on_load"), Error);
  CHECK(answerer_of(counts.invoke("")).pid != 0);
}

TEST_CASE_FIXTURE(SeparateLeaseFixture,
                  "a worker that crashes is replaced, and takes a module again") {
  take_separate(2);
  const LeasedFunction counts = load("counts_in_process");
  const LeasedFunction crashes = load("segfaults");
  CHECK(answerer_of(counts.invoke("")).count == 1);
  for (int i = 0; i < 3; ++i) {
    check_clear(error_of([&] { (void)crashes.invoke(""); }), ErrorKind::function_crashed);
    CHECK(answerer_of(counts.invoke("")).count > 0);
  }
}

}  // namespace orchid::tests
