// share/slurm_steps.h: what Slurm's commands say of a job and its steps.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/core_list.h"
#include "share/job_processes.h"

namespace orchid::share {

/// By it a share is found again among the steps of its job.
constexpr std::string_view step_name = "orchid-share";

/// By slurmctld's clock, since the epoch.
struct JobTimes {
  std::chrono::seconds starts{0};
  std::optional<std::chrono::seconds> ends;  // nothing: it has no limit
  friend bool operator==(const JobTimes&, const JobTimes&) = default;
};

/// Nodes and what of each the job has, in what `scontrol show job --details` says: {"n[1-2]",
/// "0-3", 4 GiB}, …
struct NodePart {
  std::string nodes;
  CoreList cores;
  ByteCount memory{};  // 0: Slurm does not count it
};

/// Owned by one thread, which each call blocks, up to the deadline. Errors of all: as those of
/// `pilot::SlurmCommands`.
class SlurmSteps {
 public:
  struct Options {
    std::filesystem::path folder;  // of srun and the others; empty: not installed
    std::chrono::milliseconds deadline{15'000};
  };
  explicit SlurmSteps(Options options) : options_(std::move(options)) {}

  /// The steps of that job which are shares: "17.3".
  [[nodiscard]] Result<std::vector<std::string>> shares(std::uint64_t job) const;
  /// Asks these steps to end.
  [[nodiscard]] Result<void> end(const std::vector<std::string>& steps) const;
  [[nodiscard]] Result<JobTimes> times(std::uint64_t job) const;
  /// Cores of the job on that node, as Slurm numbers them. Errors: also `not_found`: it has none
  /// there.
  [[nodiscard]] Result<CoreList> cores(std::uint64_t job, const std::string& node) const;
  /// Memory of the job on that node, however it was asked for. Nothing: Slurm does not count it.
  /// Errors: as of `cores`.
  [[nodiscard]] Result<std::optional<ByteCount>> memory(std::uint64_t job,
                                                        const std::string& node) const;
  /// How many processors Slurm counts on that node: its numbers are below.
  [[nodiscard]] Result<std::uint32_t> processors(const std::string& node) const;

 private:
  [[nodiscard]] Result<NodePart> part_of(std::uint64_t job, const std::string& node) const;
  /// `variable`: one more in the environment, "NAME=VALUE"; empty: none.
  [[nodiscard]] Result<std::string> run(std::vector<std::string> words,
                                        const std::string& variable = {}) const;
  Options options_;
};

/// Of squeue's lines "17.3|name", those with the name of shares.
[[nodiscard]] std::vector<std::string> parse_shares(std::string_view text);
/// "1700000000|1700003600", as squeue prints them. Errors: `internal`.
[[nodiscard]] Result<JobTimes> parse_times(std::string_view text);
/// Until the job's time is over; nothing: it has no limit. `now`: by this node's clock, since the
/// epoch. Where that clock does not fit to how long the job's processes have lived, it is wrong,
/// and they count.
[[nodiscard]] std::optional<std::chrono::seconds> time_left(const JobTimes& times,
                                                            std::chrono::seconds now,
                                                            const std::optional<JobAge>& age);
[[nodiscard]] std::vector<NodePart> parse_node_parts(std::string_view text);
/// In what `scontrol show node` says. Errors: `internal`.
[[nodiscard]] Result<std::uint32_t> parse_processors(std::string_view text);

}  // namespace orchid::share
