#include "worker_metrics.h"

#include <atomic>
#include <cstdint>

#include "protocol/lane_protocol.h"

namespace orchid::gateway {

void add_worker_metrics(MetricsText& text, std::span<const std::unique_ptr<HttpUnit>> units,
                        const HostBook& hosts) {
  std::uint64_t switches = 0;
  std::uint64_t swaps = 0;
  std::uint64_t evictions = 0;
  for (const auto& unit : units) {
    switches += unit->dispatch_counts().switches.load(std::memory_order_relaxed);
    swaps += unit->dispatch_counts().swaps.load(std::memory_order_relaxed);
    evictions += unit->dispatch_counts().evictions.load(std::memory_order_relaxed);
  }
  text.counter("orchid_worker_switches_total", "Calls that woke another module's worker.",
               switches);
  text.counter("orchid_worker_swaps_total", "Workers that were claimed for one more module.",
               swaps);
  text.counter("orchid_worker_evictions_total",
               "Workers that made room for another module's; the longest unused ones.", evictions);
  std::uint64_t sleepers = 0;
  std::uint64_t memory = 0;
  std::uint64_t shared = 0;
  for (const auto& [id, executor] : hosts.executors()) {
    if (executor.state != ExecutorState::connected) continue;
    const auto value = [&counters = executor.capacity.counters](const char* name) {
      const auto found = counters.find(name);
      return found == counters.end() ? std::uint64_t{0} : found->second;
    };
    sleepers += value("sleepers");
    memory += value("sleepers_memory_bytes");
    shared += executor.lane_protocol < apart_lane_protocol ? 1 : 0;
  }
  text.gauge("orchid_sleeping_workers", "Workers that keep a module and run nothing.", sleepers);
  text.gauge("orchid_sleeping_workers_memory_bytes", "What these keep.", memory);
  text.gauge("orchid_executors_sharing_workers",
             "Older executors, whose workers run all functions of a tenant.", shared);
}

}  // namespace orchid::gateway
