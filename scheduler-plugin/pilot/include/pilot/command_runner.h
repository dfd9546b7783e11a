// pilot/command_runner.h: runs a command to its end, within a deadline.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::pilot {

struct CommandOutput {
  int status = 0;      // exit status; 128 + number after a signal
  std::string output;  // at most 4 MiB
  std::string errors;  // at most 64 KiB
};

/// `words[0]` is a path. The command is killed at the deadline. Errors: `system`, `timed_out`,
/// `too_large`.
[[nodiscard]] Result<CommandOutput> run_command(const std::vector<std::string>& words,
                                                const std::string& input,
                                                std::chrono::milliseconds deadline);

}  // namespace orchid::pilot
