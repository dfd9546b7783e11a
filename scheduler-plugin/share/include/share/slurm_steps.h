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
#include "protocol/core_list.h"

namespace orchid::share {

/// By it a share is found again among the steps of its job.
constexpr std::string_view step_name = "orchid-share";

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
  /// Until the job's time is over; nothing: it has no limit.
  [[nodiscard]] Result<std::optional<std::chrono::seconds>> time_left(std::uint64_t job) const;
  /// Cores of the job on that node, as Slurm numbers them. Errors: also `not_found`: it has none
  /// there.
  [[nodiscard]] Result<CoreList> cores(std::uint64_t job, const std::string& node) const;

 private:
  [[nodiscard]] Result<std::string> run(std::vector<std::string> words) const;
  Options options_;
};

/// Of squeue's lines "17.3|name", those with the name of shares.
[[nodiscard]] std::vector<std::string> parse_shares(std::string_view text);
/// "9:37", "1-02:03:04", "UNLIMITED". Errors: `internal`.
[[nodiscard]] Result<std::optional<std::chrono::seconds>> parse_time_left(std::string_view text);
/// Nodes and their cores in what `scontrol show job --details` says: {"n[1-2]", "0-3"}, …
struct NodeCores {
  std::string nodes;
  CoreList cores;
};
[[nodiscard]] std::vector<NodeCores> parse_node_cores(std::string_view text);

}  // namespace orchid::share
