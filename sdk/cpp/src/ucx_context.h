// ucx_context.h: UCX in the process that uses the SDK.
#pragma once
#include "foundation/result.h"
#include "transport/ucx_lane.h"

namespace orchid::sdk {

/// Any thread. One for each kind of fabric, made for the first connection that needs it, never
/// before, and never destroyed, since an Output that is kept until the end of the program has a
/// lane behind it. Errors: `unsupported`, `bad_configuration`.
[[nodiscard]] Result<transport::UcxContext*> shared_ucx_context(
    transport::Fabric fabric = transport::Fabric::tcp);

}  // namespace orchid::sdk
