// The life of a memory process.
#pragma once

namespace orchid::executor {

/// Takes one order from `control`, a packet socket, and serves one client. The agent's end of the
/// socket is also the sign to end: so is whatever else comes. Returns the exit status, unless it
/// has to end the process itself.
[[nodiscard]] int run_memory_process(int control, int parent_pid);

}  // namespace orchid::executor
