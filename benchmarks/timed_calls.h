// benchmarks/timed_calls.h: how long each of many calls takes.
#pragma once
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
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

/// The same after a tenth as many calls, and one, which are not measured.
template <typename Call>
[[nodiscard]] Result<std::vector<double>> warm_calls(int count, const TickRate& rate, Call call) {
  if (auto warm = timed_calls(count / 10 + 1, rate, call); !warm) return warm;
  return timed_calls(count, rate, call);
}

/// Microseconds for each of so many requests, which `stream(count)` makes and waits for; after a
/// tenth as many, and one, which are not measured.
template <typename Stream>
[[nodiscard]] Result<std::vector<double>> timed_stream(int count, const TickRate& rate,
                                                       Stream stream) {
  if (Result<void> warm = stream(count / 10 + 1); !warm) return fail(std::move(warm.error()));
  auto took = timed_calls(1, rate, [&] { return stream(count); });
  if (took) took->front() /= count;
  return took;
}

[[nodiscard]] inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
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
