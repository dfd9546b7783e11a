#include "http/metrics.h"

#include <algorithm>
#include <string>

namespace orchid::gateway {
namespace {

using Threads = std::span<const ThreadMetrics* const>;

std::uint64_t sum(Threads threads, Counter ThreadMetrics::* counter) {
  std::uint64_t total = 0;
  for (const ThreadMetrics* thread : threads) total += (thread->*counter).value();
  return total;
}

/// Counter by counter.
template <std::size_t Size>
std::array<std::uint64_t, Size> sums(Threads threads,
                                     std::array<Counter, Size> ThreadMetrics::* counters) {
  std::array<std::uint64_t, Size> totals{};
  for (const ThreadMetrics* thread : threads)
    for (std::size_t i = 0; i < Size; ++i) totals[i] += (thread->*counters)[i].value();
  return totals;
}

void add_requests(MetricsText& text, Threads threads) {
  text.describe(MetricKind::counter, "orchid_http_requests_total", "Answered requests by status.");
  const auto responses = sums(threads, &ThreadMetrics::responses);
  for (std::size_t code = 100; code < responses.size(); ++code)
    if (responses[code] > 0) text.sample(responses[code], {{"code", std::to_string(code)}});
  text.gauge("orchid_http_connections", "Open client connections.",
             sum(threads, &ThreadMetrics::connections_opened) -
                 sum(threads, &ThreadMetrics::connections_closed));
  text.counter("orchid_http_received_bytes_total", "Bytes from clients.",
               sum(threads, &ThreadMetrics::bytes_received));
  text.counter("orchid_http_sent_bytes_total", "Bytes to clients.",
               sum(threads, &ThreadMetrics::bytes_sent));
}

void add_invocations(MetricsText& text, Threads threads) {
  text.describe(MetricKind::counter, "orchid_invocations_total",
                "Synchronous invocations by outcome.");
  const auto outcomes = sums(threads, &ThreadMetrics::outcomes);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    text.sample(outcomes[i], {{"outcome", to_string(static_cast<Outcome>(i))}});
  std::array<double, ThreadMetrics::bounds_us.size()> bounds{};
  std::ranges::transform(ThreadMetrics::bounds_us, bounds.begin(),
                         [](std::uint64_t us) { return static_cast<double>(us) / 1e6; });
  text.histogram("orchid_invocation_duration_seconds",
                 "Time from the complete request to its answer.",
                 {.bounds = bounds,
                  .counts = sums(threads, &ThreadMetrics::durations),
                  .sum = static_cast<double>(sum(threads, &ThreadMetrics::duration_sum_us)) / 1e6});
  text.gauge("orchid_invocations_in_flight", "Synchronous invocations under way.",
             sum(threads, &ThreadMetrics::calls_in_flight_started) -
                 sum(threads, &ThreadMetrics::calls_in_flight_ended));
}

}  // namespace

void ThreadMetrics::observe_invocation(Outcome outcome, std::chrono::microseconds duration) {
  const auto us = static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count());
  std::size_t bucket = 0;
  while (bucket < bounds_us.size() && us > bounds_us[bucket]) ++bucket;
  durations[bucket].add();
  duration_sum_us.add(us);
  outcomes[static_cast<std::size_t>(outcome)].add();
}

void add_metrics(MetricsText& text, Threads threads) {
  add_requests(text, threads);
  add_invocations(text, threads);
}

}  // namespace orchid::gateway
