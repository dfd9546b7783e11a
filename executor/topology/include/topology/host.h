// topology/host.h: what this process may use of this machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::executor {

struct HostResources {
  std::string boot_id;
  std::string hostname;
  std::string architecture;          // "x86_64", "aarch64"
  std::string cpu_model;             // for people
  std::vector<std::uint32_t> cores;  // the operating system's numbers: affinity mask and cpuset,
                                     // no more than the cgroup's quota of processor time feeds
  /// All hardware threads of the machine, ours or not, core by core and socket by socket, as
  /// numbers of the operating system; and the NUMA node of each.
  std::vector<std::uint32_t> thread_order;
  std::vector<std::uint32_t> thread_numa_nodes;
  ByteCount memory;          // of the machine, or of the cgroup when that is less
  ByteCount cache_per_core;  // of the last level, its equal part, 48 MiB at most; 0: not known
};

/// Never more than the affinity mask and cgroup of this process allow. Errors: `system`,
/// `unsupported`.
[[nodiscard]] Result<HostResources> discover_host();

}  // namespace orchid::executor
