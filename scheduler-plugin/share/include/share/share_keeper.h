// share/share_keeper.h: keeps the share of a job on one node: an executor, told again and again
// which of the job's cores nobody uses.
#pragma once
#include <csignal>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "share/core_usage.h"
#include "share/job_processes.h"
#include "share/share_offer.h"

namespace orchid::share {

/// Owned by main's thread, the process's only one.
class ShareKeeper {
 public:
  struct Options {
    std::string executor;                // the program
    std::vector<std::string> arguments;  // of it, all but --core-feed
    JobProcesses::Options processes;
    std::uint32_t most_cores = 0;  // 0: no limit
  };
  /// How often it is asked whether anybody was started.
  static constexpr std::chrono::milliseconds interval{50};
  /// Bindings and processor time change without anybody being started: so often, at least.
  static constexpr std::chrono::milliseconds longest_interval{500};
  /// Of a core: looking takes no more time than this part of it, or is done at the longest
  /// interval only.
  static constexpr double most_effort = 0.02;

  /// Starts the executor. SIGTERM, SIGINT and SIGCHLD are blocked. Errors: `system`.
  [[nodiscard]] static Result<ShareKeeper> start(Options options);
  /// Until a signal ends it, which is passed on, or the executor ends, and how.
  [[nodiscard]] processes::ProcessEnd run();
  [[nodiscard]] bool was_told_to_end() const { return told_to_end_; }
  /// The executor is leaving its cores; waits until it has.
  [[nodiscard]] processes::ProcessEnd wait_for_end();

 private:
  ShareKeeper(Options options, processes::ChildProcess executor, UniqueFd feed);
  void look(MonotonicTime now);
  void tell(const CoreList& cores);

  processes::ChildProcess executor_;
  UniqueFd feed_;
  JobProcesses processes_;
  CoreUsage usage_;
  ShareOffer offer_;
  MonotonicTime next_look_;
  MonotonicTime looked_;
  std::optional<CoreList> told_;
  bool told_to_end_ = false;
};

/// The signals that it waits for.
[[nodiscard]] sigset_t keeper_signals();

}  // namespace orchid::share
