// children/core_binding.h: which cores processes may run on.
#pragma once
#include <sys/types.h>

#include <vector>

#include "foundation/result.h"
#include "protocol/core_list.h"

namespace orchid::executor {

/// This process, and what it starts from now on. Errors: `system`.
[[nodiscard]] Result<void> bind_this_process(const CoreList& cores);
/// All threads that those processes have, also those that begin meanwhile; one that has ended is
/// none. Errors: `system`; `unsupported` when a process goes on making threads.
[[nodiscard]] Result<void> bind_processes(const std::vector<pid_t>& pids, const CoreList& cores);

}  // namespace orchid::executor
