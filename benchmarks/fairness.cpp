// benchmarks/fairness.cpp: do eight clients that share one worker each get their share?
//
// Eight threads call the same worker of one lease one call after the other, as fast as they can,
// for half a second in each round, more than ten seconds in all. A fair share is an eighth of the
// calls.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "harness/bench.h"
#include "local_lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned clients = 8;
constexpr auto slice = 500ms;

/// The poorest client's part of a fair share, over one slice of the time.
Result<std::vector<double>> poorest_share(const LeasedFunction& echo,
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
  return std::vector{static_cast<double>(*std::ranges::min_element(done)) * clients /
                     static_cast<double>(all)};
}

int run(Bench& bench) {
  tests::LocalExecutor executor({.programs = PROGRAMS});
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::blocking});
  const LeasedFunction echo =
      lease.module(tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc")).function();
  bench.measure({.row = "poorest of 8 clients of one worker",
                 .unit = "of its fair share",
                 .round = [&] { return poorest_share(echo, slice); },
                 .promises = {{Statistic::p50, {Target::Direction::at_least, 0.5}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("fairness", argc, argv);
  return orchid::bench::run(bench);
}
