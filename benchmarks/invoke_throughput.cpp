// benchmarks/invoke_throughput.cpp: how many empty calls a second does one worker take from one
// client that keeps a window of them in flight, against raw UCX requests and replies with the same
// window?
//
// Once over the bare lane and once through the SDK's `for_each`, which chooses its window itself.
// Worker and client each have a core.
#include <cstdio>

#include "foundation/cpu_pause.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_lease.h"
#include "raw_ucx.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "posix,self";
constexpr int calls = 50'000;  // in one round
constexpr std::size_t window = 64;

using Clock = std::chrono::steady_clock;

std::vector<double> rate_of(Clock::time_point start) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - start;
  return {calls / took.count()};
}

Result<std::vector<double>> lane_round(tests::WorkerClient& worker, const LaneSlot& slot) {
  transport::LaneClient& lane = worker.lane();
  const auto start = Clock::now();
  for (int sent = 0, done = 0; done < calls;) {
    while (sent < calls && lane.in_flight() < window) {
      auto request = lane.send(
          {.slot = slot.slot, .generation = slot.generation, .deadline = std::chrono::seconds(60)});
      if (!request) return fail(std::move(request.error()));
      ++sent;
    }
    auto response = lane.receive();
    if (!response) return fail(std::move(response.error()));
    if (!*response) {
      cpu_pause();
      continue;
    }
    lane.release(**response);
    ++done;
  }
  return rate_of(start);
}

Result<std::vector<double>> sdk_round(Lease& lease, const LeasedFunction& echo) {
  const auto start = Clock::now();
  std::size_t answered = 0;
  lease.for_each(
      echo, calls, [](std::size_t) { return std::span<const std::byte>{}; },
      [&](std::size_t, std::span<const std::byte> output) { answered += output.empty() ? 1 : 0; });
  if (answered != calls) return fail(ErrorCode::internal, "not an echo");
  return rate_of(start);
}

Result<std::vector<double>> ucx_round(int server_core) {
  auto echo = RawUcxEcho::start({.transports = transports, .server_core = server_core});
  if (!echo) return fail(std::move(echo.error()));
  for (int warm = 0; warm < 200; ++warm)
    if (auto done = echo->round_trip(8); !done) return fail(std::move(done.error()));
  const auto start = Clock::now();
  if (auto done = echo->stream(calls, window, 8); !done) return fail(std::move(done.error()));
  return rate_of(start);
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("invoke_throughput needs two cores\n", stderr);
    return 3;
  }
  const std::filesystem::path module = std::filesystem::path(FUNCTIONS) / "echo.bc";
  tests::LocalExecutor executor({.programs = PROGRAMS});
  tests::WorkerClient bare(executor);
  const LaneSlot slot = bare.load(module);
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::adaptive});
  const LeasedFunction echo = lease.module(tests::module_bytes(module)).function();
  if (auto pinned = pin(bare.pid(), cores[1]); !pinned) return 3;
  for (const std::int64_t pid : sdk::LeaseAccess::core_of(lease).worker_pids())
    if (auto pinned = pin(pid, cores[1]); !pinned) return 3;
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  const Description raw{"raw UCX active messages, window 64", bench.command_line(),
                        std::string("UCX_TLS=") + transports};
  const std::vector<Promise> promises{{Statistic::p50, {Target::Direction::at_least, 0.9}}};
  bench.compare({.row = "empty calls over the lane",
                 .unit = "calls/us",
                 .round = [&] { return lane_round(bare, slot); },
                 .baseline = raw,
                 .baseline_round = [&] { return ucx_round(cores[1]); },
                 .promises = promises});
  bench.compare({.row = "empty calls through the SDK",
                 .unit = "calls/us",
                 .round = [&] { return sdk_round(lease, echo); },
                 .baseline = raw,
                 .baseline_round = [&] { return ucx_round(cores[1]); },
                 .promises = promises});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("invoke_throughput", argc, argv);
  return orchid::bench::run(bench);
}
