// invocations/call_metrics.h: what the HTTP threads count of synchronous calls.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "foundation/metrics_text.h"
#include "foundation/thread_counter.h"
#include "protocol/outcome.h"

namespace orchid::gateway {

/// Of one HTTP thread, which writes it; read by any.
struct CallMetrics {
  static constexpr std::array<std::uint64_t, 17> bounds_us{
      10,     25,     50,     100,     250,     500,     1'000,     2'500,     5'000,
      10'000, 25'000, 50'000, 100'000, 250'000, 500'000, 1'000'000, 10'000'000};

  std::array<ThreadCounter, outcome_count> outcomes;
  std::array<ThreadCounter, bounds_us.size() + 1> durations;
  ThreadCounter duration_sum_us;
  ThreadCounter started;
  ThreadCounter left;  // ended, or became asynchronous

  /// What the caller gets, or would have got, after `duration`.
  void observe(Outcome outcome, std::chrono::microseconds duration);
};

/// Of all HTTP threads together. Any thread.
void add_metrics(MetricsText& text, std::span<const CallMetrics* const> threads);

}  // namespace orchid::gateway
