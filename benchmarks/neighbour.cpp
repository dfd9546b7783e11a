// benchmarks/neighbour.cpp: what does a call cost beside a hostile function on the other core,
// against one beside an honest function that computes there?
//
// Two leases of one core each. The neighbour's echo is called after 1 ms without calls, over a
// lease. The other worker computes in one thread (the baseline) or in 200, or takes memory up to
// its limit and gives it back all the time, or its function has filled the eventfds of its lane.
// The caller is on the neighbour's core.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_lease.h"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr int calls = 200;  // in one round

std::filesystem::path hostile_function(const char* name) {
  return std::filesystem::path(TEST_FUNCTIONS) / (std::string(name) + ".bc");
}

/// The first lease has the first core, the second the second.
struct Setup {
  TickRate rate = TickRate::measure();
  tests::LocalExecutor executor{{.programs = PROGRAMS}};
  tests::WorkerClient other{executor};
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::blocking});
  LeasedFunction echo =
      lease.module(tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc")).function();

  Result<std::vector<double>> neighbours_calls() {
    const std::vector<std::byte> input(8, std::byte{1});
    std::vector<std::byte> output(8);
    return calls_after_sleep(calls, rate, [&]() -> Result<void> {
      if (echo.invoke_into(input, output) == 8) return {};
      return fail(ErrorCode::internal, "not an echo");
    });
  }

  /// While the other worker computes in so many threads; it is ended then.
  Result<std::vector<double>> beside_threads(int threads) {
    const auto wanted = static_cast<std::size_t>(threads) + 1;
    return beside("spins_in_threads", std::to_string(threads),
                  [&] { return threads_of(other.pid()) >= wanted; });
  }

  /// While the other worker takes all the memory that it gets and gives it back, again and again.
  Result<std::vector<double>> beside_memory() {
    return beside("takes_memory_again", "",
                  [&] { return resident_mib(other.pid()) >= most_resident_mib / 2; });
  }

  /// While that function runs, from when it is as it shall be.
  Result<std::vector<double>> beside(const char* function, const std::string& input,
                                     const std::function<bool()>& is_so) {
    const LaneSlot slot = other.load(hostile_function(function));
    const std::uint64_t request = other.start(slot, input, 60s);
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    while (!is_so())
      if (std::chrono::steady_clock::now() > give_up)
        return fail(ErrorCode::timed_out, std::string(function) + " does not do what it shall");
    auto values = neighbours_calls();
    other.cancel(request);
    if (other.finish().outcome != Outcome::cancelled)
      return fail(ErrorCode::internal, "the other function ended by itself");
    return values;
  }

  /// After a call that has filled the eventfd which wakes the other worker.
  Result<std::vector<double>> beside_full_eventfd() {
    const LaneSlot slot = other.load(hostile_function("fills_eventfd"));
    if (other.call(slot, "4").outcome != Outcome::ok)
      return fail(ErrorCode::internal, "the eventfd could not be filled");
    auto values = neighbours_calls();
    if (!std::holds_alternative<LaneEnded>(other.receive()) ||
        !std::holds_alternative<LaneClaimed>(other.receive()))
      return fail(ErrorCode::internal, "the other worker was not replaced");
    return values;
  }

 private:
  static constexpr std::size_t most_resident_mib = 512;  // what the executor gives workers
  static std::size_t resident_mib(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/statm");
    std::size_t size = 0;
    std::size_t resident = 0;  // pages of 4 KiB
    file >> size >> resident;
    return resident / 256;
  }
  static std::size_t threads_of(pid_t process) {
    std::error_code gone;
    const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task",
                                                      gone);
    return gone ? 0 : static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
  }
};

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2 || cores[0] != 0 || cores[1] != 1) {
    std::fputs("neighbour needs the first two cores\n", stderr);
    return 3;
  }
  Setup setup;
  // After the executor's start: workers would inherit it.
  if (auto pinned = pin_this_thread(cores[1]); !pinned) return 3;
  const auto compare = [&](const char* act, const Round& round) {
    bench.compare({.row = std::string("call of a neighbour beside ") + act + ", p99",
                   .unit = "us",
                   .round = round,
                   .baseline = {"the same call beside one busy thread", bench.command_line(), ""},
                   .baseline_round = [&] { return setup.beside_threads(0); },
                   .promises = {{Statistic::p99, {Target::Direction::at_most, 2}}}});
  };
  compare("200 busy threads on the other core", [&] { return setup.beside_threads(200); });
  compare("memory up to the limit, taken again and again", [&] { return setup.beside_memory(); });
  compare("a full eventfd of the other worker", [&] { return setup.beside_full_eventfd(); });
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("neighbour", argc, argv);
  return orchid::bench::run(bench);
}
