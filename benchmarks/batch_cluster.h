// benchmarks/batch_cluster.h: a Slurm cluster of real daemons on this machine, as ./dev cluster
// starts it, and what its jobs have to say.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"

namespace orchid::bench {

/// Ends with its owner, its jobs too. Used by one thread. All errors are `timed_out` or `internal`,
/// with what was said.
class BatchCluster {
 public:
  struct Options {
    unsigned nodes = 1;
    unsigned cores = 1;                // of each
    ByteCount memory = 4_GiB;          // of each
    std::string scheduler_parameters;  // of slurm.conf
  };
  [[nodiscard]] static Result<std::unique_ptr<BatchCluster>> start(const Options& options);
  ~BatchCluster();
  BatchCluster(const BatchCluster&) = delete;
  BatchCluster& operator=(const BatchCluster&) = delete;

  /// One of Slurm's commands; what it has printed.
  [[nodiscard]] Result<std::string> run(std::vector<std::string> command) const;
  /// The number of the job. `lines` are those of its script, after the first.
  [[nodiscard]] Result<std::uint64_t> submit(const std::vector<std::string>& options,
                                             const std::string& lines) const;
  [[nodiscard]] Result<void> wait_until_empty() const;
  /// What programs need to find it.
  [[nodiscard]] std::string environment() const;
  /// Its own, and whoever uses it may have files there.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  /// A pipe that jobs write lines to.
  [[nodiscard]] std::filesystem::path pipe() const { return directory_ / "pipe"; }
  [[nodiscard]] Result<std::string> next_line(std::chrono::milliseconds patience);
  using SystemTime = std::chrono::system_clock::time_point;
  /// When slurmctld has told other jobs to leave for that one.
  [[nodiscard]] Result<SystemTime> preempted_for(std::uint64_t job) const;
  /// When slurmctld has given nodes to it.
  [[nodiscard]] Result<SystemTime> allocated(std::uint64_t job) const;

 private:
  explicit BatchCluster(std::filesystem::path directory) : directory_(std::move(directory)) {}
  [[nodiscard]] Result<std::string> manage(const std::vector<std::string>& words) const;
  /// Of the first line of slurmctld's log that has these words.
  [[nodiscard]] Result<SystemTime> time_of(const std::string& words) const;

  std::filesystem::path directory_;
  UniqueFd pipe_;
  std::string read_;  // of the pipe, and no whole line yet
};

}  // namespace orchid::bench
