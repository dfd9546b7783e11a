// worker/remote_client.h: how a worker comes to its client of another host.
#pragma once
#include "foundation/result.h"
#include "transport/ucx_lane.h"
#include "worker/messages.h"

namespace orchid::executor {

/// Waits at a port, which the agent is told, for the one client that knows the key, and returns the
/// lane to it. However long that takes: the agent ends a worker whose client does not come. After
/// the first stage of confinement and before the second, since it needs sockets and starts UCX's
/// thread. Errors: those of UcxLaneListener; the process has to end then.
[[nodiscard]] Result<transport::UcxLaneWorker> await_remote_client(
    const RemoteLane& remote, const transport::LaneGeometry& geometry, int control);

}  // namespace orchid::executor
