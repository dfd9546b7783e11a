// fabric/ucx_context.h: UCX in the process that uses the SDK.
#pragma once
#include <string>

#include "foundation/result.h"
#include "transport/ucx_lane.h"

namespace orchid::sdk {

/// For lanes over a fabric, from the interface that has `local_host`; empty, or no IPv4 address:
/// from whichever leads there. UCX looks at each interface of a context for whatever comes in, so a
/// lane of one for all of them would wait for the others too: 0.03 to 0.05 of a small echo.
///
/// Any thread. Made for the first connection that needs it, never before, and never destroyed,
/// since an Output that is kept until the end of the program has a lane behind it. Errors:
/// `unsupported`, `bad_configuration`.
[[nodiscard]] Result<transport::UcxContext*> shared_ucx_context(transport::Fabric fabric,
                                                                const std::string& local_host);

}  // namespace orchid::sdk
