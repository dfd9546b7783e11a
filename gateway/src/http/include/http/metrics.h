// http/metrics.h: counters of the HTTP threads, and what /metrics says of them.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "foundation/metrics_text.h"
#include "protocol/outcome.h"

namespace orchid::gateway {

/// Written by one thread, read by any.
class Counter {
 public:
  void add(std::uint64_t amount = 1) {
    // One writer: no read-modify-write instruction is needed.
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Of one HTTP thread.
struct ThreadMetrics {
  static constexpr std::array<std::uint64_t, 17> bounds_us{
      10,     25,     50,     100,     250,     500,     1'000,     2'500,     5'000,
      10'000, 25'000, 50'000, 100'000, 250'000, 500'000, 1'000'000, 10'000'000};

  std::array<Counter, 600> responses;  // by status
  std::array<Counter, outcome_count> outcomes;
  std::array<Counter, bounds_us.size() + 1> durations;
  Counter duration_sum_us;
  Counter connections_opened;
  Counter connections_closed;
  Counter bytes_received;
  Counter bytes_sent;
  Counter calls_in_flight_started;
  Counter calls_in_flight_ended;

  void observe_invocation(Outcome outcome, std::chrono::microseconds duration);
  void observe_response(unsigned status) { responses[status < 600 ? status : 500].add(); }
};

/// Of all HTTP threads together.
void add_metrics(MetricsText& text, std::span<const ThreadMetrics* const> threads);

}  // namespace orchid::gateway
