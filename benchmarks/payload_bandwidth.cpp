// benchmarks/payload_bandwidth.cpp: how fast do large payloads go to a worker of this host and
// back, from a program that holds a lease, against raw UCX? (Between hosts: remote_lane.)
//
// The input is written in place, the output read in place: what a program that computes its data
// does. In further rows both are copied, from and to memory of the program.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench.h"
#include "harness/machine.h"
#include "local_lease.h"
#include "raw_ucx.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "posix,self";

using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  std::size_t size;
  int calls;  // in one round
};

/// GiB there and back in a second.
std::vector<double> bandwidth(const Case& what, Clock::time_point start) {
  const std::chrono::duration<double> took = Clock::now() - start;
  return {2.0 * static_cast<double>(what.size) * what.calls / took.count() / (1ULL << 30)};
}

Result<std::vector<double>> sdk_round(Lease& lease, const LeasedFunction& echo, const Case& what) {
  const auto start = Clock::now();
  for (int i = 0; i < what.calls; ++i)
    if (echo.invoke_in_place(lease.buffer(what.size)).bytes().size() != what.size)
      return fail(ErrorCode::internal, "not an echo");
  return bandwidth(what, start);
}

Result<std::vector<double>> copying_round(const LeasedFunction& echo, const Case& what) {
  const std::vector<std::byte> input(what.size, std::byte{1});
  std::vector<std::byte> output(what.size);
  const auto start = Clock::now();
  for (int i = 0; i < what.calls; ++i)
    if (echo.invoke_into(input, output) != what.size)
      return fail(ErrorCode::internal, "not an echo");
  return bandwidth(what, start);
}

Result<std::vector<double>> ucx_round(int server_core, const Case& what) {
  auto echo = RawUcxEcho::start(
      {.transports = transports, .server_core = server_core, .largest = what.size});
  if (!echo) return fail(std::move(echo.error()));
  if (auto warm = echo->round_trip(what.size); !warm) return fail(std::move(warm.error()));
  const auto start = Clock::now();
  for (int i = 0; i < what.calls; ++i)
    if (auto done = echo->round_trip(what.size); !done) return fail(std::move(done.error()));
  return bandwidth(what, start);
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("payload_bandwidth needs two cores\n", stderr);
    return 3;
  }
  tests::LocalExecutor executor({.programs = PROGRAMS});
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::hot});
  const LeasedFunction echo =
      lease.module(tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc")).function();
  for (const std::int64_t pid : sdk::LeaseAccess::core_of(lease).worker_pids())
    if (auto pinned = pin(pid, cores[1]); !pinned) return 3;
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  const auto compare = [&](const Case& what, const std::string& row, auto round,
                           std::vector<Promise> promises) {
    bench.compare({.row = row,
                   .unit = "GiB/s",
                   .round = round,
                   .baseline = {"raw UCX active messages", bench.command_line(),
                                std::string("UCX_TLS=") + transports},
                   .baseline_round = [&] { return ucx_round(cores[1], what); },
                   .promises = std::move(promises)});
  };
  for (const Case& what : {Case{"echo 1 MiB", 1 << 20, 400}, Case{"echo 64 MiB", 64 << 20, 8}}) {
    compare(what, what.name, [&] { return sdk_round(lease, echo, what); },
            {{Statistic::p50, {Target::Direction::at_least, 2.0}}});
    compare(what, std::string(what.name) + ", copied in and out",
            [&] { return copying_round(echo, what); }, {});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("payload_bandwidth", argc, argv);
  return orchid::bench::run(bench);
}
