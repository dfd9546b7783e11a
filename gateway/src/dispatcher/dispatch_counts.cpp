#include "dispatcher/dispatch_counts.h"

namespace orchid::gateway {

void add_metrics(MetricsText& text, std::span<const DispatchCounts* const> threads) {
  text.counter("orchid_worker_switches_total",
               "Calls that woke a worker after another module's had run there.",
               sum(threads, &DispatchCounts::switches));
  text.counter("orchid_worker_swaps_total", "Workers that were claimed for one more module.",
               sum(threads, &DispatchCounts::swaps));
  text.counter("orchid_workers_ahead_total",
               "Workers that were taken for a module ahead of its calls.",
               sum(threads, &DispatchCounts::ahead));
  text.counter("orchid_worker_evictions_total",
               "Workers that ended to make room for another module's.",
               sum(threads, &DispatchCounts::evictions));
}

}  // namespace orchid::gateway
