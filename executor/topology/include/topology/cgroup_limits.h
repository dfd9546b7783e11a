// topology/cgroup_limits.h: what the control groups of this process leave it of the machine.
#pragma once
#include <filesystem>
#include <optional>

#include "foundation/units.h"

namespace orchid::executor {

/// The tightest limit on the way from the process's group to the root; nothing where there is none.
struct CgroupLimits {
  std::optional<ByteCount> memory;
  /// Processor time per time, as 1.5 for "one and a half cores".
  std::optional<double> cores;
};

/// Versions 1 and 2, also mixed, and inside containers that see only their own part of the tree.
/// Cpusets are not read here: the kernel itself shows them in the affinity mask.
[[nodiscard]] CgroupLimits read_cgroup_limits(
    const std::filesystem::path& membership = "/proc/self/cgroup",
    const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace orchid::executor
