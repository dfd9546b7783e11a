// crew/join_crew.h: how a member of a crew comes to the members at other executors.
#pragma once
#include "crew/crew_lane.h"
#include "foundation/result.h"
#include "transport/ucx_lane.h"
#include "worker/messages.h"

namespace orchid::executor {

/// Listens at a port, which the agent is told, hears from the agent who the others are, and returns
/// when all of them are connected. After the first stage of confinement and before the second. The
/// agent ends a worker that is told nothing. Errors: those of CrewMesh::wire; the process has to
/// end then.
[[nodiscard]] Result<void> join_crew(CrewLane& lane, transport::UcxContext& context,
                                     const RemoteLane& remote, int control);

}  // namespace orchid::executor
