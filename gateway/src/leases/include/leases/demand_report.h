// leases/demand_report.h: what GET /v1/demand says: the workers that have found no place, by what
// they need.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "placement/worker_request.h"

namespace orchid::gateway {

/// [{"cores", "memory_bytes", "gpus", "gpu_model"}]; an empty model means any.
[[nodiscard]] nlohmann::ordered_json shapes_json(const std::vector<placement::WorkerShape>& shapes);
/// {"cores_wanted", "wanted": [{"workers", "alternatives" [{"cores", "memory_bytes", "gpus",
/// "gpu_model"}], "constraints" {"host", "architecture", "kind", "features"}, "lifetime_ms"}]};
/// empty texts mean any. `cores_wanted` counts the first alternatives.
[[nodiscard]] nlohmann::json demand_json(const std::vector<placement::WorkerDemand>& demand);

}  // namespace orchid::gateway
