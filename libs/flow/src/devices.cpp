#include "flow/devices.h"

#include <algorithm>
#include <cstddef>

#include "foundation/numbers.h"

namespace orchid::flow {

std::string_view to_string(Device device) {
  switch (device) {
    case Device::cores:
      return "cores";
    case Device::gpu:
      return "gpu";
    case Device::any:
      break;
  }
  return "any";
}

std::uint32_t cores_beside_gpu(std::string_view needs) {
  bool has_gpu = false;
  std::uint32_t cores = 0;
  while (!needs.empty()) {
    const std::size_t end = std::min(needs.find('|'), needs.size());
    std::string_view one = needs.substr(0, end);
    needs.remove_prefix(std::min(end + 1, needs.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.find("GPU") != std::string_view::npos)
      has_gpu = true;
    else if (cores == 0)
      cores = take_number<std::uint32_t>(one).value_or(0);
  }
  return has_gpu ? cores : 0;
}

}  // namespace orchid::flow
