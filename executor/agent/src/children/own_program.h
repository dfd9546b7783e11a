// children/own_program.h: starts one of our own programs with a socket to talk to it.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "children/scheduling.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "processes/restart_policy.h"

namespace orchid::executor {

/// Of a program of ours that ends: soon at first, so that hardly a call notices.
constexpr processes::RestartPolicy child_restarts{.first_pause = std::chrono::milliseconds(50),
                                                  .longest_pause = std::chrono::seconds(5),
                                                  .window = std::chrono::minutes(1)};

struct StartedChild {
  processes::ChildProcess process;
  UniqueFd control;  // our end of a packet socket; the child's end is its descriptor 3
};

struct ChildSettings {
  SchedulingClass scheduling = SchedulingClass::normal;
  std::vector<std::string> environment;  // all of it, "NAME=value"
};

/// With default signals, a stack of at most 8 MiB, standard input from /dev/null,
/// output to ours. When memory runs out, the kernel takes it before others' and before the agent.
/// `arguments` follow the program's name. Errors: `system`, `not_found`.
[[nodiscard]] Result<StartedChild> start_child(const std::filesystem::path& program,
                                               const std::vector<std::string>& arguments,
                                               const ChildSettings& settings = {});

}  // namespace orchid::executor
