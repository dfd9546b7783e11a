// job_groups.h: which of a process's control groups are those of a batch job, as Slurm makes them:
// /slurm/uid_1000/job_17/step_0 in version 1, …/slurmstepd.scope/job_17/step_0/user/task_0 in 2.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::site {

/// A value.
struct JobGroups {
  std::vector<std::filesystem::path> groups;  // the process's own, where that is inside the job's
  bool has_cpuset = false;                    // one of them holds the job to cores
};

struct JobGroupQuestion {
  std::string_view membership;  // what /proc/PID/cgroup says
  std::uint64_t job = 0;
  uid_t uid = 0;                // whose the job is
  std::filesystem::path mount;  // of the trees
  uid_t maker = 0;              // groups of others, which users may make, count for nothing
};
/// Errors: `denied`: it is in the groups of another job, or of another user's.
[[nodiscard]] Result<JobGroups> find_job_groups(const JobGroupQuestion& question);

}  // namespace orchid::site
