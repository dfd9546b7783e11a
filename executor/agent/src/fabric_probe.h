// agent/fabric_probe.h: what lanes between hosts could use on this host. Looked at in another
// process, since an executor has no UCX.
#pragma once
#include <filesystem>
#include <string>

#include "configuration.h"
#include "foundation/result.h"
#include "worker/messages.h"

namespace orchid::executor {

/// Blocks for some milliseconds, 10 s at most. Errors: `not_found`, `timed_out`, `system`.
[[nodiscard]] Result<FabricFound> probe_fabric(const std::filesystem::path& worker_program);

/// Whether what was found will do. Errors: `unsupported`, saying what to do.
[[nodiscard]] Result<void> check_fabric(LaneFabric wanted, const FabricFound& found);

}  // namespace orchid::executor
