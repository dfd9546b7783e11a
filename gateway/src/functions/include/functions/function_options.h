// functions/function_options.h: what requests about functions ask for in header fields and query
// parameters. Pure functions.
#pragma once
#include <optional>
#include <vector>

#include "calls/worker_for.h"
#include "foundation/result.h"
#include "http/request.h"
#include "placement/worker_request.h"

namespace orchid::gateway {

/// The query parameter `concurrency`: how many calls of a function may run at once. Nothing: it is
/// not there. Errors: `bad_request`.
[[nodiscard]] Result<std::optional<unsigned>> parse_concurrency(const Request& request);

/// The query parameter `needs`: what the function's workers have (placement/shape_text.h). Nothing:
/// it is not there. Errors: `bad_request`.
[[nodiscard]] Result<std::optional<std::vector<placement::WorkerShape>>> parse_needs(
    const Request& request);

/// Where calls are to run: Orchid-Host-Kind, Orchid-Device and Orchid-Cluster, without data.
/// Errors: `bad_request`; whether there is such a cluster is not looked at.
[[nodiscard]] Result<CallPlace> parse_call_place(const Request& request);

}  // namespace orchid::gateway
