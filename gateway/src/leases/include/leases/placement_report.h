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

/// What is said of each host about one alternative of a request.
struct Considered {
  placement::WorkerShape shape;
  std::vector<placement::HostReason> findings;
};
/// {"hosts": [{"host", "grant", "fits": bool, "reason", "text"}], "chosen": index or null,
/// "alternatives": [{"wanted" text, "hosts"}]}, with the hosts of the chosen one, or else of the
/// last. One at least.
[[nodiscard]] std::string findings_json(const std::vector<Considered>& considered);

}  // namespace orchid::gateway
