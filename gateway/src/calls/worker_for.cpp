#include "calls/worker_for.h"

#include <utility>
#include <vector>

#include "calls/call.h"

namespace orchid::gateway {

placement::WorkerRequest worker_for(const WorkerNeeds* needs, const ModuleHosts& hosts,
                                    const CallPlace& place) {
  std::vector<placement::WorkerShape> alternatives{placement::WorkerShape{}};
  if (needs != nullptr) alternatives = needs->alternatives;
  const bool on_gpu = hosts.needs_gpu || place.device == placement::CallDevice::gpu;
  if (!on_gpu && place.device == placement::CallDevice::cores) {
    std::erase_if(alternatives, [](const placement::WorkerShape& one) { return one.gpus != 0; });
    if (alternatives.empty()) alternatives.emplace_back();
  }
  if (on_gpu) {
    std::erase_if(alternatives, [](const placement::WorkerShape& one) { return one.gpus == 0; });
    if (alternatives.empty()) alternatives.push_back({.gpus = 1});
  }
  return {.alternatives = std::move(alternatives),
          .cluster = place.cluster,
          .images = hosts.images,
          .kind = place.kind,
          .data_at = place.data_at};
}

placement::WorkerRequest worker_for(const FunctionVersion& version, const CallPlace& place) {
  const auto needs = version.worker_needs();
  return worker_for(needs.get(), version.hosts, place);
}

}  // namespace orchid::gateway
