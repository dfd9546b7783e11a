// process_status.h: of a process, what the proof needs, from one look at its /proc/PID/status.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "foundation/result.h"
#include "protocol/core_list.h"

namespace orchid::site {

struct ProcessStatus {
  pid_t parent = 0;
  uid_t real = 0;  // user ids
  uid_t saved = 0;
  CoreList allowed;  // affinity and cpuset
};

/// Errors: `internal`: a line is missing.
[[nodiscard]] Result<ProcessStatus> parse_process_status(std::string_view text);
/// Errors: also `not_found`: it has ended.
[[nodiscard]] Result<ProcessStatus> read_process_status(const std::filesystem::path& proc,
                                                        pid_t process);

}  // namespace orchid::site
