// children/scheduling.h: how an executor's processes stand behind all others that want their
// cores.
#pragma once
#include "foundation/result.h"

namespace orchid::executor {

/// `idle`: they run only where nobody else wants to; `normal`: like any program of the user.
enum class SchedulingClass { normal, idle };

/// For the agent, before it starts anything. It leaves the session that it was started in, because
/// Linux shares a core between sessions first (sched_autogroup), and the new one, with all that is
/// started in it, gets the lowest weight. The agent itself keeps its class and nice value: it does
/// little, and where the kernel does not group by session it gets a core at once, to hold or to end
/// its workers, also from others. Errors: `system`.
[[nodiscard]] Result<void> give_way();
/// When everything is to end, and others wait for that: the session has its full weight again,
/// where the kernel permits it.
void hurry();

/// Of a child, between fork and exec: system calls only.
void enter_idle_class() noexcept;

}  // namespace orchid::executor
