#include "offload/host_idle.h"

#include <cstdio>
#include <string>

#include "foundation/files.h"

namespace orchid::sdk {

std::optional<std::chrono::nanoseconds> host_idle_time() {
  const auto content = read_file("/proc/uptime", 1_KiB);
  if (!content) return std::nullopt;
  double up = 0;
  double idle = 0;
  if (std::sscanf(std::string(as_text(*content)).c_str(), "%lf %lf", &up, &idle) != 2)
    return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(idle));
}

}  // namespace orchid::sdk
