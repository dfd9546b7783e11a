// Iterations, step by step, and what the engine has kept as files: the value of a node, before
// others have it, and now and then the state of an iteration, which then goes on from there when
// what came after it is lost.
#include <memory>
#include <utility>

#include "flow/engine.h"

namespace orchid::flow {

void Engine::take_step(std::uint32_t node, Bytes output, bool is_last) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  ++run.step;
  if (is_last || run.step >= planned.times) return end_node(node, std::move(output));
  count_data(planned.gives, output);
  drop_state(node);
  run.about = std::make_shared<const Bytes>(std::move(output));
  run.has_own_state = true;
  run.state_step = run.step;
  set_stage(run, Stage::main, 1);
  if (planned.durable != 0 && run.step % planned.durable == 0) begin_keeping(node);
}

/// In place of what comes to its first port.
void Engine::go_on_from_kept(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  run.about = run.kept;
  run.has_own_state = true;
  run.step = run.state_step = run.kept_step;
  count_data(plan_->nodes[node].gives, *run.about);
}

void Engine::begin_keeping(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  run.keeping = true;
  run.again.push_back({.keeps = true});
}

/// Whoever gets so far may lose as much again.
void Engine::take_kept(std::uint32_t node) {
  const PortType& type = plan_->nodes[node].gives;
  NodeRun& run = nodes_[node];
  run.keeping = false;
  run.remakes = 0;
  if (!run.result.empty()) {
    const auto value = std::make_shared<const Bytes>(std::exchange(run.result, {}));
    finish_node(node, Bytes(*value));
    drop(type, value);  // it is counted as the node's now
    in_files_.insert(data_of(*value));
    return;
  }
  count_data(type, *run.about);
  forget_kept(node);
  run.kept = run.about;
  run.kept_step = run.step;
  in_files_.insert(data_of(*run.kept));
}

void Engine::forget_kept(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  drop(plan_->nodes[node].gives, std::exchange(run.kept, nullptr));
  run.kept_step = 0;
}

/// Its last call makes it.
void Engine::make_result_again(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  drop(plan_->nodes[node].gives, std::make_shared<const Bytes>(std::exchange(run.result, {})));
  run.keeping = false;
  if (plan_->nodes[node].kind == NodeKind::iterate) run.step = run.state_step;
  run.again.push_back({});
  ++run.round;
  queue(node);
}

/// The flow is done. Nobody runs again.
void Engine::drop_kept_values() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const PlannedNode& planned = plan_->nodes[i];
    if (planned.keeps_value && !planned.is_output)
      drop(planned.gives, std::exchange(nodes_[i].value, nullptr));
  }
}

}  // namespace orchid::flow
