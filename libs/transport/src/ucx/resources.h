// ucx/resources.h: what UCX finds on this host.
#pragma once
#include <vector>

#include "foundation/result.h"
#include "ucx/fabric.h"

namespace orchid::transport {

/// Asks libuct, which opens each device for a moment. Leaves the signal handlers as they were only
/// if libucp was loaded before (`load_ucx`). Errors: `unsupported` (no library).
[[nodiscard]] Result<std::vector<UcxResource>> find_resources();

}  // namespace orchid::transport
