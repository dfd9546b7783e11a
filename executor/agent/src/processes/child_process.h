// processes/child_process.h: starts one of our own programs with a socket to talk to it.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "processes/scheduling.h"

namespace orchid::executor {

struct StartedChild {
  pid_t pid = -1;
  UniqueFd control;  // our end of a packet socket; the child's end is its descriptor 3
};

struct ChildSettings {
  SchedulingClass scheduling = SchedulingClass::normal;
  std::vector<std::string> environment;  // all of it, "NAME=value"
};

/// fork + exec with default signals, a stack of at most 8 MiB, standard input from /dev/null,
/// output to ours. When memory runs out, the kernel takes it before others' and before the agent.
/// `arguments` follow the program's name. Errors: `system`, `not_found`.
[[nodiscard]] Result<StartedChild> start_child(const std::filesystem::path& program,
                                               const std::vector<std::string>& arguments,
                                               const ChildSettings& settings = {});

}  // namespace orchid::executor
