// benchmarks/wake_latency.cpp: what does a call cost that finds its worker asleep, against a raw
// UCX wake-up on the same host, and what does a worker cost while it sleeps? (Between hosts:
// remote_lane.)
//
// An adaptive lease, after 1 ms without calls. The differences to the raw wake-up are of the same
// round.
#include <cstdio>
#include <thread>

#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "harness/statistics.h"
#include "local_lease.h"
#include "raw_ucx.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* transports = "posix,self";
constexpr int calls = 200;  // in one round

template <typename Call>
Result<std::vector<double>> calls_after_sleep(const TickRate& rate, Call call) {
  std::vector<double> values;
  for (int i = 0; i < calls; ++i) {
    std::this_thread::sleep_for(1ms);
    const std::uint64_t start = ticks_now();
    if (Result<void> done = call(); !done) return fail(std::move(done.error()));
    values.push_back(static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000);
  }
  return values;
}

struct Setup {
  TickRate rate = TickRate::measure();
  tests::LocalExecutor executor{{.programs = PROGRAMS}};
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::adaptive});
  LeasedFunction echo =
      lease.module(tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc")).function();

  Result<std::vector<double>> ours() {
    const std::vector<std::byte> input(8, std::byte{1});
    std::vector<std::byte> output(8);
    return calls_after_sleep(rate, [&]() -> Result<void> {
      if (echo.invoke_into(input, output) == 8) return {};
      return fail(ErrorCode::internal, "not an echo");
    });
  }
  Result<std::vector<double>> raw(int core) const {
    auto echo = RawUcxEcho::start({.transports = transports, .server_core = core, .sleeps = true});
    if (!echo) return fail(std::move(echo.error()));
    for (int warm = 0; warm < 50; ++warm)
      if (auto done = echo->round_trip(8); !done) return fail(std::move(done.error()));
    return calls_after_sleep(rate, [&] { return echo->round_trip(8); });
  }
  /// Ours less raw.
  Result<std::vector<double>> difference(double fraction, int core) {
    auto mine = ours();
    auto rival = raw(core);
    if (!mine) return mine;
    if (!rival) return rival;
    return std::vector{percentile(*mine, fraction) - percentile(*rival, fraction)};
  }
  /// Per cent of a core that the worker uses in a second without calls.
  Result<std::vector<double>> idle_load() {
    const auto pid = static_cast<pid_t>(sdk::LeaseAccess::core_of(lease).worker_pids().at(0));
    const auto before = cpu_time_of(pid);
    std::this_thread::sleep_for(1s);
    const auto after = cpu_time_of(pid);
    if (!before || !after) return fail(ErrorCode::internal, "the worker has gone");
    return std::vector{static_cast<double>((*after - *before).count()) / 10'000};
  }
};

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("wake_latency needs two cores\n", stderr);
    return 3;
  }
  Setup setup;
  for (const std::int64_t pid : sdk::LeaseAccess::core_of(setup.lease).worker_pids())
    if (auto pinned = pin(pid, cores[1]); !pinned) return 3;
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  const auto at_most = [](double bound) {
    return std::vector<Promise>{{Statistic::p50, {Target::Direction::at_most, bound}}};
  };
  bench.measure({.row = "p50 over that of a raw UCX wake-up (posix,self)",
                 .unit = "us",
                 .round = [&] { return setup.difference(0.5, cores[1]); },
                 .promises = at_most(5)});
  bench.measure({.row = "p99 over that of a raw UCX wake-up (posix,self)",
                 .unit = "us",
                 .round = [&] { return setup.difference(0.99, cores[1]); },
                 .promises = at_most(20)});
  bench.measure({.row = "a worker that waits",
                 .unit = "% of a core",
                 .round = [&] { return setup.idle_load(); },
                 .promises = at_most(1)});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("wake_latency", argc, argv);
  return orchid::bench::run(bench);
}
