// children/core_binding.h: which cores processes may run on.
#pragma once
#include <sys/types.h>

#include "foundation/result.h"
#include "protocol/core_list.h"

namespace orchid::executor {

/// This process, and what it starts from now on. Errors: `system`.
[[nodiscard]] Result<void> bind_this_process(const CoreList& cores);
/// All threads that the process has, also those that begin meanwhile; one that has ended has none.
/// Errors: `system`; `unsupported` when it goes on making threads.
[[nodiscard]] Result<void> bind_process(pid_t pid, const CoreList& cores);

}  // namespace orchid::executor
