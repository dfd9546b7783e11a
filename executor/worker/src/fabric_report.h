// worker/fabric_report.h: what lanes of this host could use, for the agent, which has no UCX.
#pragma once

namespace orchid::executor {

/// Sends `FabricFound` over the packet socket `control` and returns the process's exit status.
/// Opens an RDMA device, if there is one, and closes it again.
[[nodiscard]] int report_fabric(int control);

}  // namespace orchid::executor
