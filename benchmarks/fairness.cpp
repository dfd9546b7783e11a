// benchmarks/fairness.cpp: do eight clients that share one worker each get their share?
//
// Eight threads call the same worker of one lease one call after the other, as fast as they can,
// for five seconds in each round, on both lanes; the one between hosts over loopback. A fair share
// is an eighth of the calls; the poorest client of the worst round is judged.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "harness/bench.h"
#include "local_lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned clients = 8;
constexpr auto slice = 5s;

/// How often the poorest client's calls go into a fair share, over one slice of the time.
Result<std::vector<double>> want_of_the_poorest(const LeasedFunction& echo,
                                                std::chrono::nanoseconds time) {
  std::vector<std::uint64_t> done(clients);
  std::atomic<bool> failed{false};
  {
    const auto end = std::chrono::steady_clock::now() + time;
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < clients; ++i)
      threads.emplace_back([&, i] {
        const std::vector<std::byte> input(8, std::byte{static_cast<unsigned char>(i)});
        std::vector<std::byte> output(8);
        try {
          while (std::chrono::steady_clock::now() < end) {
            if (echo.invoke_into(input, output) != 8 || output != input) failed = true;
            ++done[i];
          }
        } catch (const Error&) {
          failed = true;
        }
      });
  }
  if (failed) return fail(ErrorCode::internal, "a call failed, or had another's answer");
  std::uint64_t all = 0;
  for (const std::uint64_t count : done) all += count;
  const double poorest = static_cast<double>(*std::ranges::min_element(done));
  if (poorest == 0) return fail(ErrorCode::internal, "a client had not a single answer");
  return std::vector{static_cast<double>(all) / clients / poorest};
}

void measure(Bench& bench, const std::string& lane) {
  tests::LocalExecutor executor({.programs = PROGRAMS, .remote = true});
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::blocking, .lane = lane});
  const LeasedFunction echo =
      lease.module(tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc")).function();
  bench.measure(
      {.row = "a fair share over that of the poorest of 8 clients of one worker, 5 s, lane " + lane,
       .unit = "x",
       .round = [&] { return want_of_the_poorest(echo, slice); },
       .promises = {{Statistic::p99, {Target::Direction::at_most, 2}}}});
}

int run(Bench& bench) {
  for (const char* lane : {"local", "ucx"}) measure(bench, lane);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("fairness", argc, argv);
  return orchid::bench::run(bench);
}
