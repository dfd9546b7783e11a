// benchmarks/after_call.cpp: what does the worker's tidying up after a call cost: after each short
// one, and when it looks at mappings, memory, descriptors and signals?
//
// In this process, which is no worker, but maps as much. "before" is what was done when only
// rounding and buffered output were restored.
#include <fcntl.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "foundation/unique_fd.h"
#include "harness/bench.h"
#include "hygiene.h"
#include "user_code/call_log.h"

namespace orchid::bench {
namespace {

constexpr int short_calls = 20'000;
constexpr int looks = 200;

template <typename Work>
double nanoseconds_each(int times, Work work) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / times;
}

/// Rounding alone, as it once was.
void restore_rounding() {
#if defined(__x86_64__)
  std::uint32_t vector = 0;
  std::uint16_t legacy = 0;
  asm volatile("stmxcsr %0" : "=m"(vector));
  asm volatile("fnstcw %0" : "=m"(legacy));
#endif
  executor::CallLog::flush_standard_streams();
}

UniqueFd open_own(const char* path) { return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)); }

int run(Bench& bench) {
  const UniqueFd descriptors = open_own("/proc/self/fd");
  const UniqueFd mappings = open_own("/proc/self/maps");
  const UniqueFd memory = open_own("/proc/self/statm");
  executor::Hygiene hygiene(
      {.descriptors = descriptors.get(), .mappings = mappings.get(), .memory = memory.get()});
  hygiene.remember();
  const auto restore = [&](std::chrono::nanoseconds run_time) {
    hygiene.restore_registers();
    const auto spoiled = hygiene.restore_after_call(run_time);
    asm volatile("" : : "r"(spoiled.size()));
  };
  bench.measure({.row = "before", .unit = "ns", .round = [] {
                   return std::vector{nanoseconds_each(short_calls, restore_rounding)};
                 }});
  bench.measure({.row = "after a short call", .unit = "ns", .round = [&] {
                   return std::vector{nanoseconds_each(
                       short_calls, [&] { restore(std::chrono::nanoseconds{0}); })};
                 }});
  bench.measure({.row = "after 10 ms of calls", .unit = "us", .round = [&] {
                   return std::vector{
                       nanoseconds_each(looks, [&] { restore(executor::Hygiene::look_interval); }) /
                       1000};
                 }});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("after_call", argc, argv);
  return orchid::bench::run(bench);
}
