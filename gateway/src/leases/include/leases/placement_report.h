// leases/placement_report.h: what GET /v1/leases/ID/placement and GET /v1/placement say.
#pragma once
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "placement/explanation.h"

namespace orchid::gateway {

/// {"decisions": [{"number", "age_ms", "policy", "placed": bool, "workers", "cores_per_worker",
/// "memory_bytes", "refusal", "chosen" [text], "alternatives" [{"wanted" text, "summary", "counts"
/// {reason: n}, "examples" [text]}]}]}
[[nodiscard]] std::string explanations_json(const std::vector<placement::Explanation>& explanations,
                                            MonotonicTime now);

/// {"hosts": [{"host", "grant", "fits": bool, "reason", "text"}]}
[[nodiscard]] std::string findings_json(const std::vector<placement::HostReason>& findings);

}  // namespace orchid::gateway
