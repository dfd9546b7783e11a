#include "invocations/call_metrics.h"

#include <algorithm>

namespace orchid::gateway {

void CallMetrics::observe(Outcome outcome, std::chrono::microseconds duration) {
  const auto us = static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count());
  std::size_t bucket = 0;
  while (bucket < bounds_us.size() && us > bounds_us[bucket]) ++bucket;
  durations[bucket].add();
  duration_sum_us.add(us);
  outcomes[static_cast<std::size_t>(outcome)].add();
}

void add_metrics(MetricsText& text, std::span<const CallMetrics* const> threads) {
  text.describe(MetricKind::counter, "orchid_invocations_total",
                "Synchronous invocations by outcome.");
  const auto outcomes = sums(threads, &CallMetrics::outcomes);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    text.sample(outcomes[i], {{"outcome", to_string(static_cast<Outcome>(i))}});
  std::array<double, CallMetrics::bounds_us.size()> bounds{};
  std::ranges::transform(CallMetrics::bounds_us, bounds.begin(),
                         [](std::uint64_t us) { return static_cast<double>(us) / 1e6; });
  text.histogram("orchid_invocation_duration_seconds",
                 "Time from the complete request to its answer.",
                 {.bounds = bounds,
                  .counts = sums(threads, &CallMetrics::durations),
                  .sum = static_cast<double>(sum(threads, &CallMetrics::duration_sum_us)) / 1e6});
  text.gauge("orchid_invocations_in_flight", "Synchronous invocations under way.",
             sum(threads, &CallMetrics::started) - sum(threads, &CallMetrics::left));
}

}  // namespace orchid::gateway
