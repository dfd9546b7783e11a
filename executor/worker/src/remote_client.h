// worker/remote_client.h: how a worker comes to its client of another host.
#pragma once
#include "foundation/result.h"
#include "transport/ucx_lane.h"
#include "worker/messages.h"

namespace orchid::executor {

/// UCX for a worker with a client of another host; never destroyed: the process ends by _exit or a
/// signal. Where RDMA may be used it has to be made before the first stage of confinement, which
/// lets nothing be opened that a device needs; otherwise after it, so that less is open. Errors:
/// those of UcxContext.
[[nodiscard]] Result<transport::UcxContext*> make_ucx(const RemoteLane& remote);

/// Waits at a port, which the agent is told, for the one client that knows the key, and returns the
/// lane to it. However long that takes: the agent ends a worker whose client does not come. After
/// the first stage of confinement and before the second, since it needs sockets and starts UCX's
/// thread. Errors: those of UcxLaneListener; the process has to end then.
[[nodiscard]] Result<transport::UcxLaneWorker> await_remote_client(
    transport::UcxContext& context, const RemoteLane& remote,
    const transport::LaneGeometry& geometry, int control);

}  // namespace orchid::executor
