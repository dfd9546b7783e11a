// benchmarks/lane_latency.cpp: what does a call cost through the local lane, against raw UCX on the
// same host?
//
// Echo of 8 B, 1 KiB and 1 MiB: header, status, deadline and hygiene included, worker in its
// sandbox, against an active message there and back between two processes that do nothing else.
// Both sides spin, each on its own core. The 1 MiB input is written in place.
#include <cstdio>
#include <cstring>

#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_executor.h"
#include "raw_ucx.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "posix,self";

struct Case {
  const char* name;
  std::size_t size;
  int calls;  // in one round
};

std::vector<double> microseconds(const std::vector<std::uint64_t>& ticks, const TickRate& rate) {
  std::vector<double> values;
  values.reserve(ticks.size());
  for (const std::uint64_t t : ticks)
    values.push_back(static_cast<double>(rate.duration(t).count()) / 1000);
  return values;
}

/// Calls the echo function over the lane and looks at each answer's length.
Result<std::vector<double>> lane_round(tests::WorkerClient& worker, const LaneSlot& slot,
                                       const Case& what, const TickRate& rate) {
  std::vector<std::uint64_t> ticks(static_cast<std::size_t>(what.calls));
  const std::vector<std::byte> small(what.size <= 4096 ? what.size : 0, std::byte{1});
  transport::LaneClient& lane = worker.lane();
  for (std::uint64_t& taken : ticks) {
    const std::uint64_t start = ticks_now();
    std::span<const std::byte> input = small;
    if (small.empty()) {
      auto room = lane.allocate(what.size);
      if (!room) return fail(std::move(room.error()));
      input = *room;  // the program computes its input there
    }
    auto sent = lane.send({.slot = slot.slot,
                           .generation = slot.generation,
                           .deadline = std::chrono::seconds(10),
                           .input = input});
    if (!sent) return fail(std::move(sent.error()));
    Result<std::optional<transport::LaneResponse>> response = std::nullopt;
    do response = lane.receive();
    while (response && !*response);
    if (!response) return fail(std::move(response.error()));
    if ((*response)->outcome != Outcome::ok || (*response)->payload.size() != what.size)
      return fail(ErrorCode::internal, "not an echo");
    lane.release(**response);
    taken = ticks_now() - start;
  }
  return microseconds(ticks, rate);
}

Result<std::vector<double>> ucx_round(RawUcxEcho& echo, const Case& what, const TickRate& rate) {
  std::vector<std::uint64_t> ticks(static_cast<std::size_t>(what.calls));
  for (std::uint64_t& taken : ticks) {
    const std::uint64_t start = ticks_now();
    if (auto done = echo.round_trip(what.size); !done) return fail(std::move(done.error()));
    taken = ticks_now() - start;
  }
  return microseconds(ticks, rate);
}

/// Only the side whose turn it is may spin on the second core.
int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("lane_latency needs two cores\n", stderr);
    return 3;
  }
  const TickRate rate = TickRate::measure();
  tests::LocalExecutor executor({.programs = PROGRAMS});
  tests::WorkerClient worker(executor);
  const LaneSlot slot = worker.load(std::filesystem::path(FUNCTIONS) / "echo.bc");
  if (auto pinned = pin(worker.pid(), cores[1]); !pinned) return 3;
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  for (const Case& what : {Case{"echo 8 B", 8, 20'000}, Case{"echo 1 KiB", 1024, 20'000},
                           Case{"echo 1 MiB", 1 << 20, 200}}) {
    const bool large = what.size > 4096;
    const Target half{Target::Direction::at_most, 0.5};
    std::vector<Promise> promises{
        {Statistic::p50, large ? half : Target{Target::Direction::at_most, 0.9}}};
    if (!large) promises.push_back({Statistic::p99, {Target::Direction::at_most, 1.0}});
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&] { return lane_round(worker, slot, what, rate); },
                   .baseline = {"raw UCX active messages", bench.command_line(),
                                std::string("UCX_TLS=") + transports},
                   .baseline_round = [&]() -> Result<std::vector<double>> {
                     // Started for the round: a rival that spins beside ours would be measured with
                     // it.
                     auto echo =
                         RawUcxEcho::start({.transports = transports, .server_core = cores[1]});
                     if (!echo) return fail(std::move(echo.error()));
                     for (int warm = 0; warm < 200; ++warm)
                       if (auto done = echo->round_trip(what.size); !done)
                         return fail(std::move(done.error()));
                     return ucx_round(*echo, what, rate);
                   },
                   .promises = promises});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("lane_latency", argc, argv);
  return orchid::bench::run(bench);
}
