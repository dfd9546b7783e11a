// benchmarks/sdk_latency.cpp: what does a call cost from a program that holds a lease, against raw
// UCX on the same host, and what does the SDK add to the bare lane?
//
// Echo of 8 B to 1 MiB. Ours goes through orchid::LeasedFunction, as users write it: choice of a
// worker, deadline, retries and thread safety included. Both sides spin, each on its own core. The
// 1 MiB input is written in place and its output read in place.
#include <cstdio>
#include <cstring>

#include "harness/bench.h"
#include "harness/machine.h"
#include "local_lease.h"
#include "raw_ucx.h"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

constexpr const char* transports = "posix,self";
constexpr std::size_t largest_copied = 4096;

struct Case {
  const char* name;
  std::size_t size;
  int calls;  // in one round
};

Result<void> expect_size(std::size_t got, std::size_t expected) {
  if (got == expected) return {};
  return fail(ErrorCode::internal, "not an echo");
}

Result<std::vector<double>> sdk_round(Lease& lease, const LeasedFunction& echo, const Case& what,
                                      const TickRate& rate) {
  const std::vector<std::byte> input(what.size, std::byte{1});
  std::vector<std::byte> output(what.size);
  return timed_calls(what.calls, rate, [&]() -> Result<void> {
    if (what.size <= largest_copied) return expect_size(echo.invoke_into(input, output), what.size);
    return expect_size(echo.invoke_in_place(lease.buffer(what.size)).bytes().size(), what.size);
  });
}

Result<void> lane_call(transport::LaneClient& lane, const LaneSlot& slot,
                       std::span<const std::byte> input, std::span<std::byte> output) {
  auto sent = lane.send({.slot = slot.slot,
                         .generation = slot.generation,
                         .deadline = std::chrono::seconds(60),
                         .input = input});
  if (!sent) return fail(std::move(sent.error()));
  Result<std::optional<transport::LaneResponse>> response = std::nullopt;
  do response = lane.receive();
  while (response && !*response);
  if (!response) return fail(std::move(response.error()));
  const std::size_t size = (*response)->payload.size();
  std::memcpy(output.data(), (*response)->payload.data(), std::min(size, output.size()));
  lane.release(**response);
  return expect_size(size, input.size());
}

Result<std::vector<double>> lane_round(tests::WorkerClient& worker, const LaneSlot& slot,
                                       const Case& what, const TickRate& rate) {
  const std::vector<std::byte> input(what.size, std::byte{1});
  std::vector<std::byte> output(what.size);
  return timed_calls(what.calls, rate,
                     [&] { return lane_call(worker.lane(), slot, input, output); });
}

Result<std::vector<double>> ucx_round(int server_core, const Case& what, const TickRate& rate) {
  // Started for the round: a rival that spins beside ours would be measured with it.
  auto echo = RawUcxEcho::start({.transports = transports, .server_core = server_core});
  if (!echo) return fail(std::move(echo.error()));
  for (int warm = 0; warm < 200; ++warm)
    if (auto done = echo->round_trip(what.size); !done) return fail(std::move(done.error()));
  return timed_calls(what.calls, rate, [&] { return echo->round_trip(what.size); });
}

std::vector<Promise> promises_for(const Case& what) {
  if (what.size > largest_copied) return {{Statistic::p50, {Target::Direction::at_most, 0.5}}};
  return {{Statistic::p50, {Target::Direction::at_most, 0.9}},
          {Statistic::p99, {Target::Direction::at_most, 1.0}}};
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("sdk_latency needs two cores\n", stderr);
    return 3;
  }
  const TickRate rate = TickRate::measure();
  const std::filesystem::path module = std::filesystem::path(FUNCTIONS) / "echo.bc";
  tests::LocalExecutor executor({.programs = PROGRAMS});
  tests::WorkerClient bare(executor);
  const LaneSlot slot = bare.load(module);
  Lease lease = tests::take_lease(std::make_shared<tests::ExecutorSource>(executor),
                                  {.workers = 1, .wait = Wait::hot});
  const LeasedFunction echo = lease.module(tests::module_bytes(module)).function();
  if (auto pinned = pin(bare.pid(), cores[1]); !pinned) return 3;
  for (const std::int64_t pid : sdk::LeaseAccess::core_of(lease).worker_pids())
    if (auto pinned = pin(pid, cores[1]); !pinned) return 3;
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  const Case cases[] = {{"echo 8 B", 8, 20'000},
                        {"echo 1 KiB", 1024, 20'000},
                        {"echo 4 KiB", 4096, 20'000},
                        {"echo 1 MiB", 1 << 20, 200}};
  for (const Case& what : cases)
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&] { return sdk_round(lease, echo, what, rate); },
                   .baseline = {"raw UCX active messages", bench.command_line(),
                                std::string("UCX_TLS=") + transports},
                   .baseline_round = [&] { return ucx_round(cores[1], what, rate); },
                   .promises = promises_for(what)});
  for (const Case& what : {cases[0], cases[1]})
    bench.compare({.row = std::string("over the bare lane, ") + what.name,
                   .unit = "us",
                   .round = [&] { return sdk_round(lease, echo, what, rate); },
                   .baseline = {"LaneClient::send and receive", bench.command_line(), ""},
                   .baseline_round = [&] { return lane_round(bare, slot, what, rate); },
                   .promises = {{Statistic::p50, {Target::Direction::at_most, 1.3}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("sdk_latency", argc, argv);
  return orchid::bench::run(bench);
}
