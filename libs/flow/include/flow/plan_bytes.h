// flow/plan_bytes.h: a plan and the values of its inputs as bytes, for whoever goes on with a flow
// that was checked before: reading them takes a tenth of what the document takes.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "flow/plan.h"
#include "foundation/result.h"

namespace orchid::flow {

struct StoredPlan {
  Plan plan;
  std::vector<Value> inputs;
};

[[nodiscard]] std::vector<std::byte> to_bytes(const Plan& plan, const std::vector<Value>& inputs);
/// Errors: `bad_request`: they are damaged, or another version of this program has written them.
[[nodiscard]] Result<StoredPlan> parse_plan_bytes(std::span<const std::byte> bytes);

}  // namespace orchid::flow
