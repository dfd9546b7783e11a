// What others see of an engine between two events.
#include "engine_branching.h"
#include "flow/engine.h"

namespace orchid::flow {

NodeProgress Engine::progress(std::uint32_t node) const {
  const NodeRun& run = nodes_[node];
  const PlannedNode& planned = plan_->nodes[node];
  if (is_branching(planned.kind)) return progress_of_branching(run);
  if (planned.kind == NodeKind::iterate)
    return {.state = run.state,
            .done = run.step,
            .total = planned.times != no_bound      ? planned.times
                     : run.state == NodeState::done ? run.step
                                                    : run.step + 1};
  const bool counts = run.stage == Stage::main;
  std::uint64_t ahead = run.ahead.size();
  if (planned.in_runs) {
    ahead = 0;
    for (const auto& [index, result] : run.ahead) ahead += result.pieces;
  }
  return {.state = run.state,
          .done = counts ? run.in_order + ahead : 0,
          .total = counts ? run.total : 1};
}

std::uint64_t Engine::not_started(std::uint32_t node) const {
  const NodeRun& run = nodes_[node];
  if (run.state != NodeState::running) return 0;
  return run.again.size() + (run.next < run.total ? run.total - run.next : 0);
}

std::uint64_t Engine::input_bytes(std::uint32_t node) const {
  std::uint64_t bytes = 0;
  for (const PlannedPort& port : plan_->nodes[node].ports)
    if (const Value value = value_of(port.source); value != nullptr) bytes += value->size();
  return bytes;
}

Value Engine::output(std::size_t number) const { return value_of(plan_->outputs[number].source); }

}  // namespace orchid::flow
