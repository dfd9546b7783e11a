// site/slurm_job.h: what Slurm says of a job on one node, for where the kernel does not hold the
// job to its cores.
//
// scontrol prints what users have chosen (the job's name, its comment, …) between what slurmctld
// knows. So each value counts only when its name stands once in the whole text, and the cores only
// when they are as many as the job has: who adds some in a name of his own is refused.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "protocol/core_list.h"
#include "share/slurm_steps.h"

namespace orchid::site {

/// What `scontrol show job --details` says.
struct SlurmJob {
  uid_t uid = 0;
  std::size_t cpus = 0;  // on all its nodes
  std::vector<share::NodePart> nodes;
};
/// Errors: `denied`: it does not run, or its text is ambiguous.
[[nodiscard]] Result<SlurmJob> parse_slurm_job(std::string_view text);
/// Its cores on one node. `names`: of the nodes that each of `job.nodes` stands for. Errors:
/// `denied`: these are not the cores of the job; `not_found`: it has none there.
[[nodiscard]] Result<CoreList> cores_on(const std::string& node, const SlurmJob& job,
                                        const std::vector<std::vector<std::string>>& names);

/// A job on one node. A value.
struct JobOnNode {
  uid_t uid = 0;
  CoreList cores;           // as Slurm numbers them
  std::uint32_t count = 0;  // of processors that the node has, as Slurm counts; 0: not known
};

struct SlurmQuestion {
  std::filesystem::path commands;  // folder of scontrol
  std::uint64_t job = 0;
  std::string node;  // as Slurm calls this host
  std::chrono::milliseconds deadline{
      10'000};  // of each command: two, and one for each kind of node in the job
};
/// Asks; blocks. Errors: `denied`, `not_found`: it has nothing on that node; those of
/// `pilot::run_command`.
[[nodiscard]] Result<JobOnNode> ask_slurm(const SlurmQuestion& question);

}  // namespace orchid::site
