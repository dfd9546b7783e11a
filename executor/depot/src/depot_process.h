// depot_process.h: the life of a depot, from its first message to its exit status.
#pragma once

namespace orchid::executor {

/// `control`: a packet socket to the agent, the only descriptor that is kept but for the standard
/// ones. Hears `DepotStart`, gives up what it does not need, and serves workers until the agent
/// hangs up.
int run_depot_process(int control, int parent_pid);

}  // namespace orchid::executor
