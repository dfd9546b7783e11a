// flow_run/flow_tuning.h: the optimisers that a flow names, for its driver.
#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "flow/optimiser.h"
#include "flow/plan.h"
#include "flow/tuner.h"
#include "foundation/result.h"

namespace orchid::flow {

/// Makes an optimiser of a user's library. Errors: those of loading it.
using OpenLibrary = std::function<Result<std::unique_ptr<Optimiser>>(const PlannedOptimiser&)>;

/// Null: the flow names none. Without `open` libraries are refused. Errors: `unsupported`, and
/// those of `open`.
[[nodiscard]] Result<std::unique_ptr<Tuner>> make_tuner(const Plan& plan,
                                                        const OpenLibrary& open = {});

/// From the gateway's answer to /v1/hosts; none that it cannot read.
[[nodiscard]] std::vector<HostSituation> host_situations(std::string_view hosts);

}  // namespace orchid::flow
