// Where the calls of a node run that may choose between cores and a GPU.
#include <algorithm>
#include <cstddef>
#include <string>

#include "flow/engine.h"

namespace orchid::flow {

/// Nothing: there is no place for it now, or nobody has decided yet.
std::optional<Device> Engine::next_device(std::uint32_t node) const {
  const NodeRun& run = nodes_[node];
  const std::string& wanted = plan_->nodes[node].constraints.device;
  if (!wanted.empty()) return wanted == "gpu" ? Device::gpu : Device::cores;
  if (plan_->nodes[node].cores_of_call == 0 || run.stage != Stage::main) return Device::any;
  // What has failed there may do well elsewhere; and `until` is another function.
  if (!run.again.empty()) return Device::any;
  const auto advice = advice_.find(node);
  if (advice == advice_.end() || !advice->second.devices) return std::nullopt;
  const Devices& devices = *advice->second.devices;
  if (devices.cores.calls == 0 && devices.gpu.calls == 0) return Device::any;
  const std::uint64_t left = run.total - run.next;
  const auto has_place = [&](Device device) {
    const DevicePart& part = devices.of(device);
    const bool is_alone =
        devices.of(device == Device::gpu ? Device::cores : Device::gpu).calls == 0;
    if (part.calls == 0 || (!is_alone && left <= part.from)) return false;
    const auto open = std::ranges::count_if(open_, [&](const auto& call) {
      return call.second.node == node && call.second.device == device;
    });
    return static_cast<std::size_t>(open) < part.calls;
  };
  const bool gpu_first = devices.gpu.from <= devices.cores.from;
  for (const Device device :
       {gpu_first ? Device::gpu : Device::cores, gpu_first ? Device::cores : Device::gpu})
    if (has_place(device)) return device;
  return std::nullopt;
}

}  // namespace orchid::flow
