// The half of the engine that takes what calls have given, or have not.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine_branching.h"
#include "flow/engine.h"

namespace orchid::flow {
namespace {

constexpr std::uint64_t most_pieces = std::uint64_t{1} << 24;
constexpr unsigned most_doublings = 16;

/// Of a map: its results are looked at one by one, and not gathered.
bool ends_early(const PlannedNode& node) {
  return node.kind == NodeKind::map && node.ends != Until::never;
}

}  // namespace

void Engine::take_result(const OpenCall& call, Bytes output) {
  const PlannedNode& planned = plan_->nodes[call.node];
  NodeRun& run = nodes_[call.node];
  run.failures.erase(call.work.index);
  if (call.work.keeps) return take_kept(call.node);
  if (planned.is_step) {
    StepResult given = step_result(std::move(output));
    return take_step(call.node, std::move(given.state), given.done);
  }
  if (is_branching(planned.kind))
    return take_branching(call.node, call.work.index, std::move(output));
  const bool is_all = run.stage == Stage::merge || planned.kind == NodeKind::call ||
                      planned.kind == NodeKind::condition;
  if (call.work.judges) {
    take_judged(call.node, call.work, std::move(output));
  } else if (run.stage == Stage::partition) {
    take_pieces(call.node, std::make_shared<const Bytes>(std::move(output)));
  } else if (is_all ||
             (planned.ends == Until::found && is_something(planned.main.result, output))) {
    end_node(call.node, std::move(output));
  } else if (planned.ends == Until::function) {
    run.judged[call.work.index] = std::move(output);
    run.again.push_back({.index = call.work.index, .judges = true, .pieces = call.work.pieces});
  } else {
    take_item(call.node, call.work, std::move(output));
  }
}

void Engine::take_judged(std::uint32_t node, const Work& work, Bytes output) {
  NodeRun& run = nodes_[node];
  auto judged = run.judged.extract(work.index);
  if (is_something(plan_->nodes[node].until.result, output))
    end_node(node, std::move(judged.mapped()));
  else
    take_item(node, work, std::move(judged.mapped()));
}

void Engine::take_pieces(std::uint32_t node, Value pieces) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  const std::uint64_t count = count_of(*pieces);
  run.about = std::move(pieces);
  const std::uint64_t fan = planned.kind == NodeKind::reduce ? planned.fan : 1;
  set_stage(run, Stage::main, (count + fan - 1) / fan);
  if (count != 0 && count <= most_pieces) return;
  AttemptFailed failure{
      .node = node, .part = {}, .attempt = 1, .outcome = "bad_request", .message = {}};
  failure.message =
      count == 0 ? "it has nothing to do: there are no pieces; look at what comes to its first port"
                 : fmt::format("{} pieces are more than {}; make larger ones", count, most_pieces);
  failure_ = failure;
  run.state = NodeState::failed;
  // It begins anew when the flow goes on.
  run.about = nullptr;
  actions_.emplace_back(std::move(failure));
  actions_.emplace_back(NodeChanged{.node = node, .state = run.state});
  stop(FlowOutcome::failed);
}

/// The result of a piece, a group or a step that does not end the node.
void Engine::take_item(std::uint32_t node, const Work& work, Bytes output) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  if (planned.kind == NodeKind::iterate)
    return take_step(node, std::move(output), /*is_last=*/false);
  const bool gathers = !ends_early(planned);
  Bytes kept;
  if (gathers)
    kept = std::move(output);
  else if (work.index + work.pieces == run.total)
    run.last = std::move(output);
  const auto add = [&](const Ahead& one) {
    run.in_order += one.pieces;
    if (!gathers) return;
    const std::uint64_t a_piece = one.result.size() / one.pieces;
    run.gathered.add(planned.main.result, one.result, a_piece * (run.total - run.in_order));
  };
  Ahead taken{.result = std::move(kept), .pieces = work.pieces};
  if (work.index != run.in_order) {
    run.ahead.emplace(work.index, std::move(taken));
    return;
  }
  add(taken);
  for (auto next = run.ahead.begin(); next != run.ahead.end() && next->first == run.in_order;
       next = run.ahead.erase(next))
    add(next->second);
  if (run.in_order == run.total) end_stage(node);
}

/// All pieces or groups have given something.
void Engine::end_stage(std::uint32_t node) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  if (ends_early(planned)) {
    end_node(node, std::move(run.last));
    return;
  }
  Bytes all = run.gathered.take(planned.main.result);
  if (planned.kind == NodeKind::reduce) {
    if (run.total > 1) {
      ++run.step;
      take_pieces(node, std::make_shared<const Bytes>(std::move(all)));
      return;
    }
    Bytes one;
    append_element(planned.pieces, all, 0, one);
    end_node(node, std::move(one));
  } else if (planned.merge.exists()) {
    run.about = std::make_shared<const Bytes>(std::move(all));
    run.pieces = run.total;
    set_stage(run, Stage::merge, 1);
  } else {
    end_node(node, std::move(all));
  }
}

/// What is to be kept as a file is, before anybody has it.
void Engine::end_node(std::uint32_t node, Bytes output) {
  if (!plan_->nodes[node].keeps_value) return finish_node(node, std::move(output));
  NodeRun& run = nodes_[node];
  stop_calls_of(node);
  run.again.clear();
  run.judged.clear();
  count_data(plan_->nodes[node].gives, output);
  run.result = std::move(output);
  begin_keeping(node);
}

void Engine::finish_node(std::uint32_t node, Bytes output) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  stop_calls_of(node);
  count_data(planned.gives, output);
  drop_state(node);
  forget_kept(node);
  NodeRun done;
  done.state = NodeState::done;
  done.uses = run.uses;
  done.step = run.step;
  done.total = run.stage == Stage::main ? run.total : std::max<std::uint64_t>(run.pieces, 1);
  done.in_order = run.stage == Stage::main && ends_early(planned) ? run.in_order : done.total;
  if (is_branching(planned.kind)) done.total = done.in_order = progress_of_branching(run).total;
  done.is_queued = run.is_queued;
  done.remakes = run.remakes;
  done.round = run.round;
  done.value = std::make_shared<const Bytes>(std::move(output));
  run = std::move(done);
  --nodes_left_;
  actions_.emplace_back(NodeChanged{.node = node, .state = NodeState::done});
  for (const PlannedPort& port : planned.ports) {
    if (port.source.kind != Source::Kind::node) continue;
    --nodes_[port.source.index].uses;
    forget_unused(port.source.index);
  }
  forget_unused(node);
  // When it was made again, those that have ended meanwhile wait for nothing.
  for (const std::uint32_t consumer : planned.consumers) {
    NodeRun& waiting = nodes_[consumer];
    if (waiting.missing == 0) continue;
    --waiting.missing;
    if (waiting.missing == 0 && outcome_ == FlowOutcome::running) begin(consumer);
  }
}

/// Its value, if no node needs it any more, and nobody outside.
void Engine::forget_unused(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  const PlannedNode& planned = plan_->nodes[node];
  const bool is_wanted = run.uses != 0 || planned.is_output || planned.keeps_value;
  if (is_wanted || run.value == nullptr) return;
  drop(planned.gives, run.value);
  run.value = nullptr;
}

void Engine::stop_calls_of(std::uint32_t node) {
  if (nodes_[node].open == 0) return;
  for (auto call = open_.begin(); call != open_.end();) {
    if (call->second.node != node) {
      ++call;
      continue;
    }
    actions_.emplace_back(StopCall{.call = {.run = options_.run, .number = call->first}});
    call = open_.erase(call);
  }
  nodes_[node].open = 0;
}

std::string Engine::part_of(std::uint32_t node, const Work& work) const {
  const PlannedNode& planned = plan_->nodes[node];
  const NodeRun& run = nodes_[node];
  if (is_branching(planned.kind)) return part_of_branching(node, work);
  if (work.keeps) return "its file";
  if (run.stage == Stage::partition) return "partition";
  if (run.stage == Stage::merge) return "merge";
  const std::string asked = work.judges ? "until of " : "";
  if (planned.kind == NodeKind::map && work.pieces > 1)
    return fmt::format("{}pieces {} to {} of {}", asked, work.index + 1, work.index + work.pieces,
                       run.total);
  if (planned.kind == NodeKind::map)
    return fmt::format("{}piece {} of {}", asked, work.index + 1, run.total);
  if (planned.kind == NodeKind::reduce)
    return fmt::format("group {} of {}", work.index + 1, run.total);
  if (planned.kind == NodeKind::iterate) return fmt::format("{}step {}", asked, run.step + 1);
  return {};
}

void Engine::fail_attempt(const OpenCall& call, std::string outcome, std::string message) {
  const RetryPolicy& policy = plan_->nodes[call.node].retry;
  NodeRun& run = nodes_[call.node];
  const unsigned attempt = ++run.failures[call.work.index];
  // What a variant cannot do the node's own function may.
  const bool again =
      call.is_variant || (attempt < policy.attempts &&
                          std::ranges::find(policy.outcomes, outcome) != policy.outcomes.end());
  AttemptFailed failure{.node = call.node,
                        .part = part_of(call.node, call.work),
                        .attempt = attempt,
                        .outcome = std::move(outcome),
                        .message = std::move(message),
                        .again = again};
  if (again) {
    const unsigned doublings = std::min(attempt - 1, most_doublings);
    delayed_.emplace(now_ + policy.back_off * (1U << doublings), call);
    actions_.emplace_back(std::move(failure));
    return;
  }
  failure_ = failure;
  run.state = NodeState::failed;
  actions_.emplace_back(std::move(failure));
  actions_.emplace_back(NodeChanged{.node = call.node, .state = run.state});
  stop(FlowOutcome::failed);
}

void Engine::rewind(NodeRun& run) {
  run.next = run.in_order;
  skip_ahead(run);
  run.again.clear();
  run.judged.clear();
  run.open = 0;
  if (run.keeping) run.again.push_back({.keeps = true});
  rewind_branching(run);
}

/// The answer of a call that the flow's end has stopped, and that was on its way. It is kept for
/// when the flow goes on; what would ask for another call to be understood is not.
void Engine::take_late(Answered& event) {
  const auto found =
      event.call.run == options_.run ? stopped_.find(event.call.number) : stopped_.end();
  if (found == stopped_.end()) return;
  const OpenCall call = found->second;
  stopped_.erase(found);
  NodeRun& run = nodes_[call.node];
  const bool leads_on =
      is_branching(plan_->nodes[call.node].kind) && role_of(call.work.index) == BranchRole::begin;
  const bool is_plain =
      !leads_on && run.stage != Stage::partition && plan_->nodes[call.node].ends != Until::function;
  if (run.state == NodeState::done || !is_plain ||
      !fits(call_of(call.node, call.work).result, event.output))
    return;
  take_result(call, std::move(event.output));
  if (run.state != NodeState::done) rewind(run);
}

/// Nothing of the flow goes on; what has been reached is kept.
void Engine::stop(FlowOutcome outcome) {
  outcome_ = outcome;
  for (const auto& [number, call] : open_)
    actions_.emplace_back(StopCall{.call = {.run = options_.run, .number = number}});
  stopped_ = std::exchange(open_, {});
  delayed_.clear();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    rewind(nodes_[i]);
    if (nodes_[i].state != NodeState::waiting && nodes_[i].state != NodeState::running) continue;
    nodes_[i].state = NodeState::cancelled;
    actions_.emplace_back(NodeChanged{.node = i, .state = NodeState::cancelled});
  }
  actions_.emplace_back(Ended{});
}

}  // namespace orchid::flow
