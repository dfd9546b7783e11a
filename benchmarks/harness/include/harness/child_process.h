// harness/child_process.h: a program that a benchmark starts beside itself: a rival server, a load
// generator, Orchid.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "processes/child_process.h"

namespace orchid::bench {

/// Ends with its owner, with the process that made it, too. Owned by one thread.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> command;      // [0] is looked up in PATH
    std::vector<std::string> environment;  // "NAME=value", added to ours
    std::filesystem::path output_file;     // stdout and stderr; empty: inherited
    int core = -1;                         // pinned to it, unless negative
  };
  [[nodiscard]] static Result<ChildProcess> start(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept = default;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { stop(); }

  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  /// SIGTERM, and SIGKILL when it is still there after `patience`.
  void stop(std::chrono::milliseconds patience = std::chrono::seconds(5));
  /// Its exit status, or 128 + signal. Errors: `timed_out`; it runs on then.
  [[nodiscard]] Result<int> wait(std::chrono::milliseconds patience);

 private:
  explicit ChildProcess(processes::ChildProcess process) : process_(std::move(process)) {}
  processes::ChildProcess process_;
};

/// Runs a command to its end and returns what it printed on stdout. Errors: `system` (cannot
/// start), `timed_out`, `internal` (it failed; with its output).
[[nodiscard]] Result<std::string> output_of(const ChildProcess::Options& options,
                                            std::chrono::milliseconds patience);

}  // namespace orchid::bench
