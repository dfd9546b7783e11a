// pilot/slurm_commands.h: submits, lists and cancels pilots with Slurm's own commands.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "pilot/command_runner.h"

namespace orchid::pilot {

struct PilotJob {
  std::uint64_t job = 0;
  std::string state;  // as Slurm says it: "RUNNING"
  std::string partition;
  std::uint32_t nodes = 0;
  std::uint32_t cpus = 0;  // of all nodes
  std::string elapsed;     // "1:23"
  std::string left;        // of its time: "8:37"
  std::string reason;      // why it waits, in brackets; or its nodes
  [[nodiscard]] bool waits() const { return state == "PENDING"; }
  /// It has ended; its nodes are being cleared, or Slurm cannot clear them.
  [[nodiscard]] bool has_ended() const { return state == "COMPLETING"; }
};

/// Owned by one thread, which each call blocks, up to the deadline. Errors of all: `unsupported`
/// (there is no Slurm here), `unreachable` (no slurmctld, or a wrong slurm.conf), `timed_out`,
/// `unauthenticated` (munge), `denied`, `quota` (a limit), `bad_request` (what Slurm does not
/// know), `system`; with Slurm's own words, and what to do.
class SlurmCommands {
 public:
  struct Options {
    std::filesystem::path folder;                // of sbatch and the others; empty: not installed
    std::chrono::milliseconds deadline{15'000};  // for each
  };
  explicit SlurmCommands(Options options) : options_(std::move(options)) {}

  /// Of the cluster whose slurmctld these commands ask.
  [[nodiscard]] Result<std::string> cluster_name() const;
  /// That jobs go to which name none. "": there is none.
  [[nodiscard]] Result<std::string> default_partition() const;
  /// Of a job that may have left the queue, as Slurm says it: "PREEMPTED"; "COMPLETING" of one
  /// whose end is not told yet. slurmctld forgets jobs some minutes after their end (MinJobAge):
  /// `bad_request`.
  [[nodiscard]] Result<std::string> state_of(std::uint64_t job) const;
  /// The job's number.
  [[nodiscard]] Result<std::uint64_t> submit(const std::string& script) const;
  /// This user's jobs of that name, also those that are just ending, in order of their numbers.
  [[nodiscard]] Result<std::vector<PilotJob>> list(const std::string& job_name) const;
  /// Those of `jobs` that are this user's and have that name; others are left alone.
  [[nodiscard]] Result<void> cancel(const std::string& job_name,
                                    const std::vector<std::uint64_t>& jobs) const;

 private:
  [[nodiscard]] Result<std::string> run(const std::vector<std::string>& words,
                                        const std::string& input,
                                        Inherited inherited = Inherited::all) const;
  Options options_;
};

}  // namespace orchid::pilot
