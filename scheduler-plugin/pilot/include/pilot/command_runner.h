// pilot/command_runner.h: runs a command to its end, within a deadline.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::pilot {

struct CommandOutput {
  int status = 0;      // exit status; 128 + number after a signal
  std::string output;  // at most 4 MiB
  std::string errors;  // at most 64 KiB
};

/// What a command has of this process's environment; never what would change Slurm's messages or
/// its commands' options.
enum class Inherited : std::uint8_t {
  all,
  needs,  // to run, and to find the cluster: who the user is, paths, SLURM_CONF and the like; not
          // what a job has, whose programs submit others
};

/// `words[0]` is a path. The command is killed at the deadline. Any thread. Errors: `system`,
/// `timed_out`, `too_large`.
[[nodiscard]] Result<CommandOutput> run_command(const std::vector<std::string>& words,
                                                const std::string& input,
                                                std::chrono::milliseconds deadline,
                                                Inherited inherited = Inherited::all);

}  // namespace orchid::pilot
