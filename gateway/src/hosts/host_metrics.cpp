#include "hosts/host_metrics.h"

#include <algorithm>
#include <cstdint>

#include "protocol/lane_protocol.h"

namespace orchid::gateway {

void add_metrics(MetricsText& text, const HostBook& hosts) {
  std::uint64_t sleepers = 0;
  std::uint64_t memory = 0;
  std::uint64_t shared = 0;
  std::uint64_t faulty = 0;
  std::uint64_t lost_gpus = 0;
  for (const auto& [id, executor] : hosts.executors()) {
    if (executor.state != ExecutorState::connected) continue;
    const auto value = [&counters = executor.capacity.counters](const char* name) {
      const auto found = counters.find(name);
      return found == counters.end() ? std::uint64_t{0} : found->second;
    };
    sleepers += value("sleepers");
    memory += value("sleepers_memory_bytes");
    shared += executor.lane_protocol < apart_lane_protocol ? 1 : 0;
    faulty += static_cast<std::uint64_t>(std::ranges::count_if(
        executor.host.gpus, [](const OfferedGpu& gpu) { return !gpu.fault.empty(); }));
    lost_gpus += value("gpus_lost");
  }
  text.gauge("orchid_sleeping_workers", "Workers that keep a module and run nothing.", sleepers);
  text.gauge("orchid_sleeping_workers_memory_bytes", "Memory of the sleeping workers, in bytes.",
             memory);
  text.gauge("orchid_executors_sharing_workers",
             "Older executors, whose workers run all functions of a tenant.", shared);
  text.gauge("orchid_gpus_out_of_use", "GPUs that executors offer and that cannot be used now.",
             faulty);
  text.gauge("orchid_gpu_losses",
             "How often the connected executors have lost a GPU: a fault of it, or of its driver.",
             lost_gpus);
}

}  // namespace orchid::gateway
