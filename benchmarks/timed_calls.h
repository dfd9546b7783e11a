// benchmarks/timed_calls.h: how long each of many calls takes.
#pragma once
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "foundation/result.h"
#include "foundation/tick_clock.h"

namespace orchid::bench {

/// Measures `call` so often, in microseconds.
template <typename Call>
[[nodiscard]] Result<std::vector<double>> timed_calls(int count, const TickRate& rate, Call call) {
  std::vector<std::uint64_t> ticks(static_cast<std::size_t>(count));
  for (std::uint64_t& taken : ticks) {
    const std::uint64_t start = ticks_now();
    if (Result<void> done = call(); !done) return fail(std::move(done.error()));
    taken = ticks_now() - start;
  }
  std::vector<double> values;
  values.reserve(ticks.size());
  for (const std::uint64_t t : ticks)
    values.push_back(static_cast<double>(rate.duration(t).count()) / 1000);
  return values;
}

/// The same for calls that find the other end asleep: after a millisecond without calls each.
template <typename Call>
[[nodiscard]] Result<std::vector<double>> calls_after_sleep(int count, const TickRate& rate,
                                                            Call call) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto one = timed_calls(1, rate, call);
    if (!one) return one;
    values.push_back(one->front());
  }
  return values;
}

}  // namespace orchid::bench
