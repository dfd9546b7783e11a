// executor_process.h: starts orchid-executor for one grant: as a user who is nobody else, in the
// control groups of the job, on its cores, without any right of ours.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "processes/child_process.h"
#include "protocol/core_list.h"

namespace orchid::site {

/// Numbers under which an executor finds what it is given.
constexpr int feed_number = 3;
constexpr int token_number = 4;

struct ExecutorStart {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  uid_t uid = 0;                       // the group has the same number; never 0
  CoreList cores;
  std::vector<std::filesystem::path> groups;  // to be in, all of them
  int feed = -1;                              // becomes `feed_number`; -1: none
  std::string token;                          // to be read at `token_number`; may be empty
};

/// A process that is about to become the executor: in the job's control group and on its cores,
/// where the job's own processes may be in its way for long. The calling thread, the service's only
/// one, must outlive it: the kernel kills the executor, and with it all that it has started, when
/// that thread ends. Errors: `system`.
[[nodiscard]] Result<processes::StartingChild> begin_executor(const ExecutorStart& start);

}  // namespace orchid::site
