// The half of the engine that looks after data objects: they are dropped when nobody needs them any
// more, and what is lost is made again by the nodes that made it.
#include <algorithm>
#include <iterator>
#include <utility>

#include "flow/engine.h"

namespace orchid::flow {
namespace {

/// So often a node may ask for what it lacks, from the flow's beginning or its going on.
constexpr unsigned most_remakes = 8;

bool made_by_node(const PlannedPort& port) {
  return port.type.is_data() && port.source.kind == Source::Kind::node;
}

}  // namespace

/// A node has given it. One object may be several values: who is given one may give it on.
void Engine::count_data(const PortType& type, const Bytes& value) {
  if (type.is_data()) ++made_[data_of(value)];
}

/// A value of the type is not needed any more.
void Engine::drop(const PortType& type, const Value& value) {
  if (!type.is_data() || value == nullptr) return;
  const auto found = made_.find(data_of(*value));
  if (found == made_.end() || --found->second != 0) return;
  const DataId data = found->first;
  made_.erase(found);
  in_files_.erase(data);
  // What the flow was given is its user's.
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (plan_->inputs[i].type.is_data() && data_of(*inputs_[i]) == data) return;
  actions_.emplace_back(DropData{.data = data});
}

/// The state of an iteration, if one of its steps has made it.
void Engine::drop_state(std::uint32_t node) {
  if (nodes_[node].has_own_state) drop(plan_->nodes[node].gives, nodes_[node].about);
}

/// As it was before it began. What it gave, and what it had reached, are gone, but for a state that
/// is in a file: it goes on from there.
void Engine::set_back(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  stop_calls_of(node);
  std::erase_if(delayed_, [node](const auto& call) { return call.second.node == node; });
  if (run.state == NodeState::done) {
    ++nodes_left_;
    drop(plan_->nodes[node].gives, run.value);
    // It needs again what comes to its ports.
    for (const PlannedPort& port : plan_->nodes[node].ports)
      if (port.source.kind == Source::Kind::node) ++nodes_[port.source.index].uses;
  } else {
    drop_state(node);
    if (!run.result.empty())
      drop(plan_->nodes[node].gives, std::make_shared<const Bytes>(std::move(run.result)));
  }
  NodeRun fresh;
  fresh.kept = std::move(run.kept);
  fresh.kept_step = run.kept_step;
  fresh.missing = run.missing;
  fresh.uses = run.uses;
  fresh.remakes = run.remakes;
  fresh.round = run.round + 1;
  fresh.is_queued = run.is_queued;
  run = std::move(fresh);
  actions_.emplace_back(NodeChanged{.node = node, .state = run.state});
}

/// A node whose value is gone runs again, and before it those whose values it needs and that are
/// gone as well. Who has not ended and needs its value waits for it.
void Engine::make_again(std::uint32_t node) {
  std::vector<std::uint32_t> waiting{node};
  while (!waiting.empty()) {
    const std::uint32_t next = waiting.back();
    waiting.pop_back();
    if (nodes_[next].state != NodeState::done) continue;  // it was named twice
    set_back(next);
    for (const std::uint32_t consumer : plan_->nodes[next].consumers) {
      NodeRun& run = nodes_[consumer];
      if (run.state == NodeState::running) set_back(consumer);
      if (run.state == NodeState::waiting) ++run.missing;
    }
    for (const PlannedPort& port : plan_->nodes[next].ports) {
      if (port.source.kind != Source::Kind::node) continue;
      const NodeRun& source = nodes_[port.source.index];
      if (source.state != NodeState::done)
        ++nodes_[next].missing;
      else if (source.value == nullptr)
        waiting.push_back(port.source.index);  // which counts itself as missing here
    }
  }
}

void Engine::tell_lost(const OpenCall& call, const CallFailed& event) {
  actions_.emplace_back(AttemptFailed{.node = call.node,
                                      .part = part_of(call.node, call.work),
                                      .attempt = ++nodes_[call.node].remakes,
                                      .outcome = event.outcome,
                                      .message = event.message + "; it is made again",
                                      .again = true});
}

/// False: none of it can be made again, or that was tried often enough.
bool Engine::make_again_for(const OpenCall& call, const CallFailed& event) {
  const std::uint32_t node = call.node;
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  if (call.work.keeps && !run.result.empty() && run.remakes != most_remakes) {
    tell_lost(call, event);
    make_result_again(node);
    return true;
  }
  const auto is_named = [&event](const Bytes& value) {
    return std::ranges::find(event.lost, data_of(value)) != event.lost.end();
  };
  const bool state_is_data = planned.gives.is_data();
  const bool has_state = state_is_data && run.has_own_state;
  std::vector<std::uint32_t> sources;  // of what the call was given
  for (std::size_t i = 0; i < planned.ports.size() && !call.work.keeps; ++i)
    if (made_by_node(planned.ports[i]) && (i != 0 || !has_state))
      sources.push_back(planned.ports[i].source.index);
  // Where nobody says what is lost, it is what is in no file; or all, if there is nothing else.
  const auto in_file = [this](const Bytes& value) { return in_files_.contains(data_of(value)); };
  const bool all_in_files =
      (!has_state || in_file(*run.about)) &&
      std::ranges::all_of(sources, [&](std::uint32_t one) { return in_file(*nodes_[one].value); });
  const auto is_lost = [&](const Bytes& value) {
    return is_named(value) || (event.lost.empty() && (all_in_files || !in_file(value)));
  };
  std::vector<std::uint32_t> makers;
  std::ranges::copy_if(sources, std::back_inserter(makers),
                       [&](std::uint32_t one) { return is_lost(*nodes_[one].value); });
  const bool own_state = has_state && is_lost(*run.about);
  const bool next_state =
      state_is_data && call.work.judges && is_lost(run.judged.at(call.work.index));
  if ((makers.empty() && !own_state && !next_state) || run.remakes == most_remakes) return false;
  tell_lost(call, event);
  if (run.kept != nullptr &&
      (is_named(*run.kept) || (event.lost.empty() && own_state && *run.kept == *run.about)))
    forget_kept(node);
  if (next_state && makers.empty() && !own_state) {  // one step makes it
    run.judged.erase(call.work.index);
    run.again.push_back({.index = call.work.index});
    ++run.round;
    queue(node);
    return true;
  }
  set_back(node);
  for (const std::uint32_t maker : makers) make_again(maker);
  // From the front: who is needed by others stands before them.
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (outcome_ == FlowOutcome::running && nodes_[i].state == NodeState::waiting &&
        nodes_[i].missing == 0)
      begin(i);
  return true;
}

std::uint32_t Engine::values_there(std::uint32_t node) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      plan_->nodes[node].ports,
      [this](const PlannedPort& port) { return value_of(port.source) != nullptr; }));
}

std::vector<DataId> Engine::data_at(std::uint32_t node) const {
  std::vector<DataId> data;
  for (const PlannedPort& port : plan_->nodes[node].ports)
    if (const Value value = value_of(port.source); port.type.is_data() && value != nullptr)
      data.push_back(data_of(*value));
  return data;
}

void Engine::prepare(const Advice& said) {
  Advice& known = advice_[said.node];
  if (said.prepare <= known.prepare || nodes_[said.node].state != NodeState::waiting) return;
  known.prepare = said.prepare;
  actions_.emplace_back(Prepare{.node = said.node, .data = data_at(said.node)});
}

}  // namespace orchid::flow
