// agent/scheduling.h: how an executor's processes stand behind all others that want their cores.
#pragma once
#include "foundation/result.h"

namespace orchid::executor {

/// `idle`: they run only where nobody else wants to; `normal`: like any program of the user.
enum class SchedulingClass { normal, idle };

/// For the agent itself, before it starts anything: the lowest weight. Not the idle class, which is
/// for what it starts: so that it gets a core from its own workers at once, to end or to hold them.
/// It leaves the session that it was started in, because Linux shares a core between sessions
/// first (sched_autogroup), and the new one gets the lowest weight as well. Errors: `system`.
[[nodiscard]] Result<void> give_way();

/// Of a child, between fork and exec: system calls only.
void enter_idle_class() noexcept;

}  // namespace orchid::executor
