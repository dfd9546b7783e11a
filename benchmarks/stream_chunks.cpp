// benchmarks/stream_chunks.cpp: what does a chunk of a stream cost, there and back, against a call
// of the same size on the same worker?
//
// One after the other, and with as many under way as a stream has; within a host, and over the lane
// between hosts, with both ends on this one.
#include <cstdio>

#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_lease.h"
#include "orchid/stream.h"

namespace orchid::bench {
namespace {

struct Case {
  const char* name;
  std::size_t size;
  int chunks;  // in one round
};

/// Microseconds for each chunk, from the whole.
std::vector<double> each(const Case& what, std::uint64_t start, const TickRate& rate) {
  return {static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000 / what.chunks};
}

std::vector<double> calls_round(const LeasedFunction& echo, const Case& what,
                                const TickRate& rate) {
  const std::vector<std::byte> input(what.size, std::byte{1});
  const std::uint64_t start = ticks_now();
  for (int i = 0; i < what.chunks; ++i) (void)echo.invoke_in_place(input);
  return each(what, start, rate);
}

std::vector<double> turns_round(const LeasedFunction& echo, const Case& what,
                                const TickRate& rate) {
  const std::vector<std::byte> input(what.size, std::byte{1});
  Stream stream = echo.stream();
  const std::uint64_t start = ticks_now();
  for (int i = 0; i < what.chunks; ++i) {
    (void)stream.write(input);
    (void)stream.read();
  }
  return each(what, start, rate);
}

std::vector<double> flow_round(const LeasedFunction& echo, const Case& what, const TickRate& rate) {
  const std::vector<std::byte> input(what.size, std::byte{1});
  Stream stream = echo.stream();
  const std::uint64_t start = ticks_now();
  for (int i = 0; i < what.chunks; ++i)
    while (!stream.try_write(input)) (void)stream.read();
  stream.finish();
  while (stream.read()) {
  }
  return each(what, start, rate);
}

void measure(Bench& bench, const std::string& where, const LeasedFunction& echo) {
  const TickRate rate = TickRate::measure();
  for (const Case& what :
       {Case{"8 B", 8, 3000}, Case{"4 KiB", 4096, 1000}, Case{"1 MiB", 1 << 20, 48}}) {
    const auto compare = [&](const char* how, auto round) {
      bench.compare({.row = where + ", " + how + ", " + what.name,
                     .unit = "us",
                     .round = [&]() -> Result<std::vector<double>> { return round(); },
                     .baseline = {"calls, one after the other", bench.command_line(), ""},
                     .baseline_round = [&]() -> Result<std::vector<double>> {
                       return calls_round(echo, what, rate);
                     },
                     .promises = {}});
    };
    compare("in turn", [&] { return turns_round(echo, what, rate); });
    compare("16 under way", [&] { return flow_round(echo, what, rate); });
  }
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("stream_chunks needs two cores\n", stderr);
    return 3;
  }
  tests::LocalExecutor executor({.programs = PROGRAMS, .remote = true});
  // After the executor's start: workers would inherit it.
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  const auto source = std::make_shared<tests::ExecutorSource>(executor);
  const auto module =
      tests::module_bytes(std::filesystem::path(TEST_FUNCTIONS) / "streams_echo.bc");
  for (const auto& [lane, name] : {std::pair{"local", "same host"}, std::pair{"ucx", "UCX"}}) {
    Lease lease = tests::take_lease(source, {.workers = 1, .wait = Wait::hot, .lane = lane});
    measure(bench, name, lease.module(module).function());
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("stream_chunks", argc, argv);
  return orchid::bench::run(bench);
}
