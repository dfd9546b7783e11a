// benchmarks/specialise.cpp: what is code worth that a call has made for what it sees, and when?
//
// functions/specialise filters a signal. Both entries do the same sums in the same order, and give
// the same bits: one is compiled without knowing the filter, the other by the first call that has
// seen it.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/bench.h"
#include "harness/machine.h"
#include "local_crew.h"
#include "local_lease.h"

namespace orchid::bench {
namespace {

constexpr int members = 2;
constexpr std::uint32_t samples = 4000;
constexpr std::uint32_t passes = 100;

/// As functions/specialise takes it. `seed`: another one is another filter.
std::vector<std::byte> filter_of(std::uint32_t taps, double seed) {
  const std::array<std::uint32_t, 4> head{taps, samples, passes, 0};
  std::vector<std::byte> input(sizeof(head) + (std::size_t{taps} + samples) * sizeof(double));
  std::memcpy(input.data(), head.data(), sizeof(head));
  for (std::uint32_t i = 0; i < taps + samples; ++i) {
    const double value = i < taps ? seed / (3.0 + i) : (i * 7919U % 1000U) / 17.0;
    std::memcpy(input.data() + sizeof(head) + i * sizeof(double), &value, sizeof(value));
  }
  return input;
}

Result<std::vector<double>> timed(const CrewFunction& function,
                                  const std::vector<std::byte>& input) {
  const auto start = std::chrono::steady_clock::now();
  const Reply reply = function.invoke(1, input);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (reply.output.size() != samples * sizeof(double))
    return fail(ErrorCode::internal, "the signal has another size");
  return std::vector{took.count()};
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  tests::LocalExecutor executor({.programs = PROGRAMS});
  Crew crew = tests::take_crew(std::make_unique<tests::ExecutorCrews>(executor),
                               {.workers = members, .wait = Wait::blocking});
  const auto pids = crew.pids();
  for (std::size_t i = 0; i < pids.size(); ++i)
    if (auto pinned = pin(pids[i], cores[i % cores.size()]); !pinned) return 3;
  const auto module = tests::module_bytes(std::filesystem::path(FUNCTIONS) / "specialise.bc");
  const CrewFunction plain = crew.function(module, "filter_plain");
  const CrewFunction made = crew.function(module, "filter_made");
  for (const std::uint32_t taps : {5U, 12U, 32U}) {
    const auto input = filter_of(taps, 1.0);
    if (made.invoke(1, input).output != plain.invoke(1, input).output) {
      std::fputs("both do not give the same\n", stderr);
      return 3;
    }
    bench.compare(
        {.row = std::to_string(taps) + " taps, a call",
         .unit = "us",
         .round = [&] { return timed(made, input); },
         .baseline = {"the same, compiled without knowing the filter", bench.command_line(), ""},
         .baseline_round = [&] { return timed(plain, input); },
         .promises = {}});
  }
  double seed = 1;
  bench.measure({.row = "12 taps, the first call of a filter",
                 .unit = "us",
                 .round = [&] { return timed(made, filter_of(12, seed += 1)); },
                 .promises = {}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench{"specialise", argc, argv};
  return orchid::bench::run(bench);
}
