// What a worker asks of a leased memory, and is answered, over its memory socket.
#pragma once

#include <functional>

#include "foundation/result.h"
#include "lane_client/memory_client.h"

namespace orchid::executor {

struct WorkerAccess {
  int worker = -1;   // this process's end of the memory socket
  int control = -1;  // whatever comes from the agent is the sign to end
  /// The connection has ended: whether the lease has. Asked once.
  std::function<bool()> lease_has_ended;
};

/// Until the worker has hung up, or the agent; then this process ends. Some of what the worker asks
/// is on its way at once, and answered in its order; nothing of what it sends is believed. It hears
/// `lease_ended` when the lease has, and `unreachable` when only the way to it is lost. Errors:
/// `bad_request` (it is no worker of ours that sends such things), `unreachable`.
[[nodiscard]] Result<void> serve_worker(lane_client::MemoryClient& memory,
                                        const WorkerAccess& sockets);

}  // namespace orchid::executor
