// Which of a node's variants a call runs.
#include <algorithm>

#include "flow/engine.h"

namespace orchid::flow {

/// A node that tries its variants starts none of these calls before somebody has decided.
bool Engine::awaits_variant(std::uint32_t node) const {
  const NodeRun& run = nodes_[node];
  if (!plan_->nodes[node].chooses_variant || run.stage != Stage::main) return false;
  if (!run.again.empty()) return false;
  const auto advice = advice_.find(node);
  return advice == advice_.end() || advice->second.variants.empty();
}

/// A call that is tried again runs the node's own function: what made it fail may be the variant.
const PlannedCall& Engine::next_function(std::uint32_t node, const Work& work, Device device) {
  const PlannedNode& planned = plan_->nodes[node];
  const PlannedCall& function = call_of(node, work);
  if (&function != &planned.main || !planned.chooses_variant) return function;
  if (nodes_[node].failures.contains(work.index)) return function;
  const auto advice = advice_.find(node);
  if (advice == advice_.end()) return function;
  const auto turns = std::ranges::find(advice->second.variants, device, &VariantTurns::device);
  if (turns == advice->second.variants.end()) return function;
  std::uint32_t number = turns->usual;
  if (!turns->trials.empty()) {
    number = turns->trials.front();
    turns->trials.erase(turns->trials.begin());
  }
  return number == 0 || number > planned.variants.size() ? function : planned.variants[number - 1];
}

}  // namespace orchid::flow
