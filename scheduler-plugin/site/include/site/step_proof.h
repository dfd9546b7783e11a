// site/step_proof.h: that a process runs in a step of a batch job, told by what the kernel and
// slurmstepd say, and by nothing that its user could say.
//
// The chain: the process, its parent, … are its user's, up to a process that is root's, whose
// program is Slurm's slurmstepd, and whose title names job and step. A user can give a process any
// title and any environment, but no parent that it does not have, and not this program as root.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "protocol/core_list.h"

namespace orchid::site {

struct ProofOptions {
  std::filesystem::path slurmstepd = "/usr/sbin/slurmstepd";  // may be a link
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroups = "/sys/fs/cgroup";
  uid_t root = 0;  // whose the control groups are that Slurm makes
};

/// What is known of such a process. A value.
struct ProvenStep {
  std::uint64_t job = 0;
  std::string step;  // "3"; empty: the batch script's, or an interactive shell's
  CoreList allowed;  // that the kernel lets the process run on
  /// These are cores that Slurm has given to the step, and the kernel holds it to them: its control
  /// group is the job's and has a cpuset. Otherwise it may have widened them by itself.
  bool held_to_cores = false;
  /// Control groups of the job that the process is in, one of each tree that Slurm uses.
  std::vector<std::filesystem::path> groups;
};

/// `uid`: who the kernel says is at the other end of the process's connection. Errors: `denied`,
/// with what to do; `system`.
[[nodiscard]] Result<ProvenStep> prove_step(pid_t process, uid_t uid, const ProofOptions& options);

}  // namespace orchid::site
