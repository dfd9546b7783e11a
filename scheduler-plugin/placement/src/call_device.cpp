#include "placement/call_device.h"

namespace orchid::placement {

std::string_view to_string(CallDevice device) {
  return device == CallDevice::gpu ? "gpu" : "cores";
}

std::optional<CallDevice> parse_call_device(std::string_view name) {
  for (const CallDevice device : {CallDevice::cores, CallDevice::gpu})
    if (to_string(device) == name) return device;
  return std::nullopt;
}

}  // namespace orchid::placement
