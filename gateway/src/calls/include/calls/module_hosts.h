// calls/module_hosts.h: which hosts can run a module.
#pragma once
#include <compare>
#include <string>
#include <vector>

#include "module/manifest.h"

namespace orchid::gateway {

/// A value.
struct ModuleHosts {
  std::vector<std::string> images{};  // architectures that it has code for, sorted; empty: any
  bool needs_gpu = false;             // it has kernels without an image for cores
  friend auto operator<=>(const ModuleHosts&, const ModuleHosts&) = default;
};

[[nodiscard]] ModuleHosts hosts_of(const module::Manifest& manifest);

}  // namespace orchid::gateway
