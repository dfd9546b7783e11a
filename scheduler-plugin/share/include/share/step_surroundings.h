// share/step_surroundings.h: what the process of a share finds on its node: cores, a folder.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "protocol/core_list.h"
#include "share/batch_job.h"
#include "share/slurm_steps.h"

namespace orchid::share {

/// The step that this process is in, as Slurm's environment says.
struct OwnStep {
  std::uint64_t job = 0;
  std::string step;  // "3"; empty: a job's script
  std::string node;
  std::string cluster;          // may be empty
  std::uint32_t cpus_here = 0;  // that the step, and so the job, has on this node
};
/// Nothing: this process is in no job, or not on one of its nodes.
[[nodiscard]] std::optional<OwnStep> find_own_job();
/// Errors: `bad_request`: this process is in no step.
[[nodiscard]] Result<OwnStep> read_own_step();

/// The job's cores on this node: what this process is bound to or, where Slurm binds nobody, what
/// Slurm counts for it, as the operating system numbers them. Errors: those of `SlurmSteps` and
/// `executor::discover_host`.
[[nodiscard]] Result<CoreList> cores_of_job(const OwnStep& own, const SlurmSteps& slurm);

/// As the batch system counts them; where it does not say, its cores.
[[nodiscard]] inline std::uint32_t cpus_of_job(const OwnStep& own, const CoreList& cores) {
  return own.cpus_here != 0 ? own.cpus_here : static_cast<std::uint32_t>(cores.size());
}

/// The job, with the memory that it has here: where its environment does not say how much that is
/// (--mem=0, --mem-per-gpu), slurmctld does. Errors: those of `SlurmSteps`.
[[nodiscard]] Result<BatchJob> with_memory_here(BatchJob job, const OwnStep& own,
                                                const SlurmSteps& slurm);

/// What tells an executor what it has of the job's memory. Errors: `quota`: no executor runs with
/// so little.
[[nodiscard]] Result<std::vector<std::string>> memory_arguments(const OwnStep& own,
                                                                ByteCount memory);

/// A private folder on this node, which goes with its object. Those that earlier ones could not
/// remove, since they were killed, go when one is made.
class NodeFolder {
 public:
  /// Errors: `system`.
  [[nodiscard]] static Result<NodeFolder> make(std::uint64_t job);
  NodeFolder(NodeFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  NodeFolder& operator=(NodeFolder&&) = delete;
  ~NodeFolder() { remove(); }
  void remove();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  NodeFolder(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;  // held as long as the folder is used
};

}  // namespace orchid::share
