#include "calls/module_hosts.h"

#include <algorithm>

namespace orchid::gateway {

ModuleHosts hosts_of(const module::Manifest& manifest) {
  ModuleHosts hosts;
  for (const module::Target& target : manifest.targets)
    if (target.kind == "bitcode" && !module::is_gpu_architecture(target.arch))
      hosts.images.push_back(target.arch);
  std::ranges::sort(hosts.images);
  const auto [first, last] = std::ranges::unique(hosts.images);
  hosts.images.erase(first, last);
  hosts.needs_gpu = !std::ranges::all_of(manifest.kernels, &module::Kernel::on_cores);
  return hosts;
}

}  // namespace orchid::gateway
