#include "flow/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine_branching.h"

namespace orchid::flow {
namespace {

/// Results that may wait for one before them: what bounds memory when one piece takes for ever.
constexpr std::uint64_t most_ahead = 4096;

constexpr std::string_view lost_outcome = "data_lost";
constexpr std::string_view returned_outcome = "data_returned";

/// As the call's next argument.
void give(const PortType& type, const Bytes& value, StartCall& start) {
  if (type.is_data())
    start.data.push_back(data_of(value));
  else
    start.input.insert(start.input.end(), value.begin(), value.end());
}

}  // namespace

std::string_view to_string(NodeState state) {
  static constexpr std::array<std::string_view, 5> names{"waiting", "running", "done", "failed",
                                                         "cancelled"};
  return names.at(static_cast<std::size_t>(state));
}

std::string_view to_string(FlowOutcome outcome) {
  static constexpr std::array<std::string_view, 4> names{"running", "done", "failed", "cancelled"};
  return names.at(static_cast<std::size_t>(outcome));
}

Engine::Engine(const Plan& plan, std::vector<Value> inputs, const EngineOptions& options)
    : plan_(&plan),
      inputs_(std::move(inputs)),
      options_(options),
      nodes_(plan.nodes.size()),
      nodes_left_(plan.nodes.size()) {
  options_.window = std::max(options_.window, 1U);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].uses = static_cast<std::uint32_t>(plan.nodes[i].consumers.size());
    nodes_[i].missing = static_cast<std::uint32_t>(std::ranges::count_if(
        plan.nodes[i].ports,
        [](const PlannedPort& port) { return port.source.kind == Source::Kind::node; }));
  }
}

Result<Engine> Engine::start(const Plan& plan, std::vector<Value> inputs,
                             const EngineOptions& options) {
  if (inputs.size() != plan.inputs.size())
    return fail(ErrorCode::bad_request, fmt::format("flow '{}' has {} inputs, and {} were given",
                                                    plan.name, plan.inputs.size(), inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] == nullptr || !fits(plan.inputs[i].type, *inputs[i]))
      return fail(ErrorCode::bad_request, fmt::format("input '{}' is no {}", plan.inputs[i].name,
                                                      to_string(plan.inputs[i].type)));
  return Engine(plan, std::move(inputs), options);
}

std::vector<Action> Engine::apply(Event event, Time now) {
  now_ = std::max(now_, now);
  std::visit([this](auto& one) { handle(one); }, event);
  if (outcome_ == FlowOutcome::running) pump();
  if (outcome_ == FlowOutcome::running && nodes_left_ == 0) {
    outcome_ = FlowOutcome::done;
    drop_kept_values();
    actions_.emplace_back(Ended{});
  }
  if (outcome_ == FlowOutcome::running && !delayed_.empty())
    actions_.emplace_back(WakeAt{delayed_.begin()->first});
  return std::exchange(actions_, {});
}

std::optional<Engine::OpenCall> Engine::close(CallId call) {
  if (call.run != options_.run) return std::nullopt;
  const auto found = open_.find(call.number);
  if (found == open_.end()) return std::nullopt;
  const OpenCall closed = found->second;
  open_.erase(found);
  --nodes_[closed.node].open;
  return closed;
}

void Engine::handle(Answered& event) {
  if (outcome_ != FlowOutcome::running) return take_late(event);
  const auto call = close(event.call);
  if (!call) return;
  const PortType& type = call_of(call->node, call->work).result;
  if (fits(type, event.output)) {
    take_result(*call, std::move(event.output));
  } else {
    fail_attempt(*call, "function_error",
                 fmt::format("its {} bytes of output are no {}; was it deployed anew meanwhile?",
                             event.output.size(), to_string(type)));
  }
  queue(call->node);
}

void Engine::handle(CallFailed& event) {
  const auto call = close(event.call);
  if (!call) return;
  if (event.outcome == lost_outcome && make_again_for(*call, event)) return;
  if (event.outcome == returned_outcome) {
    nodes_[call->node].again.push_back(call->work);
    ++nodes_[call->node].round;  // another call, and not the one that has failed
    return queue(call->node);
  }
  fail_attempt(*call, std::move(event.outcome), std::move(event.message));
  queue(call->node);
}

void Engine::handle(const Tick& /*event*/) {
  if (!begun_) {
    begun_ = true;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (outcome_ == FlowOutcome::running && nodes_[i].state == NodeState::waiting &&
          nodes_[i].missing == 0)
        begin(i);
  }
  while (!delayed_.empty() && delayed_.begin()->first <= now_) {
    const OpenCall due = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    if (nodes_[due.node].state != NodeState::running) continue;
    nodes_[due.node].again.push_back(due.work);
    queue(due.node);
  }
}

void Engine::handle(const Cancel& /*event*/) {
  if (outcome_ == FlowOutcome::running) stop(FlowOutcome::cancelled);
}

void Engine::handle(const GoOn& /*event*/) {
  if (outcome_ != FlowOutcome::failed && outcome_ != FlowOutcome::cancelled) return;
  outcome_ = FlowOutcome::running;
  ++generation_;
  stopped_.clear();  // they are made again
  failure_.reset();
  begun_ = true;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    NodeRun& run = nodes_[i];
    run.remakes = 0;
    if (run.state == NodeState::done || outcome_ != FlowOutcome::running) continue;
    run.failures.clear();
    if (run.missing != 0) {
      run.state = NodeState::waiting;
    } else if (run.about == nullptr) {  // it had not begun
      begin(i);
    } else {
      run.state = NodeState::running;
      actions_.emplace_back(NodeChanged{.node = i, .state = run.state});
      queue(i);
    }
  }
}

Value Engine::value_of(const Source& source) const {
  switch (source.kind) {
    case Source::Kind::input:
      return inputs_[source.index];
    case Source::Kind::constant:
      return plan_->constants[source.index];
    case Source::Kind::node:
      return nodes_[source.index].value;
  }
  return nullptr;
}

void Engine::begin(std::uint32_t node) {
  const PlannedNode& planned = plan_->nodes[node];
  NodeRun& run = nodes_[node];
  run.state = NodeState::running;
  actions_.emplace_back(NodeChanged{.node = node, .state = run.state});
  static const Value nothing = std::make_shared<const Bytes>();
  run.about = planned.ports.empty() ? nothing : value_of(planned.ports[0].source);
  if (run.kept != nullptr) go_on_from_kept(node);
  if (is_branching(planned.kind)) {
    begin_branching(node);
  } else if (planned.partition.exists()) {
    set_stage(run, Stage::partition, 1);
  } else if (planned.kind == NodeKind::map || planned.kind == NodeKind::reduce) {
    take_pieces(node, run.about);
  } else {
    set_stage(run, Stage::main, 1);
  }
  queue(node);
}

/// Who has no say, and cannot be followed, is passed over.
void Engine::handle(Decided& event) {
  for (Advice& said : event.nodes) {
    if (said.node >= nodes_.size()) continue;
    Advice& known = advice_[said.node];
    known.node = said.node;
    if (said.priority) known.priority = said.priority;
    if (said.pieces != 0) {
      known.pieces = said.pieces;
      known.share = said.share;
    }
    if (said.devices) known.devices = said.devices;
    if (!said.variants.empty()) known.variants = said.variants;
    prepare(said);
  }
  if (event.open_calls) open_calls_ = std::max(*event.open_calls, 1U);
  std::vector<std::uint32_t> waiting;
  for (const auto& [priority, turn, node] : queue_) waiting.push_back(node);
  queue_.clear();
  for (const std::uint32_t node : waiting) nodes_[node].is_queued = false;
  for (const std::uint32_t node : waiting) queue(node);
  for (const Advice& said : event.nodes)
    if ((said.devices || !said.variants.empty()) && said.node < nodes_.size()) queue(said.node);
}

void Engine::set_stage(NodeRun& run, Stage stage, std::uint64_t total) {
  run.stage = stage;
  run.total = total;
  run.next = 0;
  run.in_order = 0;
  run.failures.clear();
  run.again.clear();
  run.ahead.clear();
}

const PlannedCall& Engine::call_of(std::uint32_t node, const Work& work) const {
  const PlannedNode& planned = plan_->nodes[node];
  const NodeRun& run = nodes_[node];
  static const PlannedCall none;
  if (work.keeps) return none;
  if (work.judges) return planned.until;
  if (is_branching(planned.kind)) return call_of_branching(planned, work);
  if (run.stage == Stage::partition) return planned.partition;
  if (run.stage == Stage::merge) return planned.merge;
  if (planned.kind == NodeKind::condition && !is_something(planned.ports[0].type, *run.about))
    return planned.if_false;
  return planned.main;
}

/// What the call is about.
void Engine::append_argument(std::uint32_t node, const Work& work, StartCall& start) const {
  const PlannedNode& planned = plan_->nodes[node];
  const NodeRun& run = nodes_[node];
  if (work.keeps) {
    start.data.push_back(data_of(run.result.empty() ? *run.about : run.result));
  } else if (is_branching(planned.kind)) {
    append_branching(node, work, start.input);
  } else if (work.judges) {
    give(planned.main.result, run.judged.at(work.index), start);
  } else if (planned.kind == NodeKind::iterate) {
    if (planned.is_step) append_budget(planned.budget, planned.steps, start.input);
    give(planned.gives, *run.about, start);
  } else if (run.stage == Stage::merge) {
    give(gathered(planned.main.result), *run.about, start);
  } else if (run.stage == Stage::main && planned.kind == NodeKind::map) {
    if (planned.in_runs)
      append_elements(planned.pieces, *run.about, work.index, work.index + work.pieces,
                      start.input);
    else
      append_element(planned.pieces, *run.about, work.index, start.input);
  } else if (planned.kind == NodeKind::reduce) {
    const std::uint64_t begin = work.index * planned.fan;
    append_elements(planned.pieces, *run.about, begin,
                    std::min(begin + planned.fan, count_of(*run.about)), start.input);
  }
}

bool Engine::can_start(std::uint32_t node) const {
  const NodeRun& run = nodes_[node];
  const std::uint32_t window = plan_->nodes[node].window;
  if (run.state != NodeState::running || (window != 0 && run.open >= window)) return false;
  const std::uint64_t beyond =
      plan_->nodes[node].in_runs ? run.ahead.size() + run.open : run.next - run.in_order;
  return (!run.again.empty() || (!run.keeping && run.next < run.total && beyond < most_ahead)) &&
         next_device(node) && !awaits_variant(node);
}

void Engine::queue(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  if (run.is_queued || !can_start(node)) return;
  run.is_queued = true;
  const auto advice = advice_.find(node);
  const std::int64_t priority = advice == advice_.end() ? 0 : advice->second.priority.value_or(0);
  queue_.emplace(~priority, turns_++, node);  // the highest first; -priority may not exist
}

/// Pieces of a map in runs that the next call is given. Without advice each call has as many, and
/// there are two for each that may be open; where somebody learns what is good, he begins with one.
std::uint64_t Engine::run_length(std::uint32_t node, Device device) const {
  const NodeRun& run = nodes_[node];
  if (!plan_->nodes[node].in_runs || run.stage != Stage::main) return 1;
  const auto part = [](std::uint64_t count, std::uint64_t parts) {
    return count / parts + (count % parts == 0 ? 0 : 1);
  };
  const std::uint64_t left = run.total - run.next;
  const bool is_learned = std::ranges::any_of(plan_->optimisers, &PlannedOptimiser::decides_runs);
  std::uint64_t length = is_learned ? 1 : part(run.total, 2ULL * options_.window);
  const auto follow = [&](std::uint64_t pieces, std::uint32_t share) {
    if (pieces != 0) length = pieces;
    if (share != 0) length = std::min(length, part(left, share));
  };
  if (const auto advice = advice_.find(node); advice != advice_.end()) {
    const auto& devices = advice->second.devices;
    if (device == Device::any || !devices)  // or the node names its device itself
      follow(advice->second.pieces, advice->second.share);
    else
      follow(devices->of(device).pieces, devices->of(device).share);
  }
  // Results of later pieces may be there, from before the flow went on.
  const auto known = run.ahead.upper_bound(run.next);
  const std::uint64_t end = known == run.ahead.end() ? run.total : known->first;
  return std::min(std::max<std::uint64_t>(length, 1), end - run.next);
}

void Engine::skip_ahead(NodeRun& run) {
  for (auto known = run.ahead.find(run.next); known != run.ahead.end();
       known = run.ahead.find(run.next))
    run.next += known->second.pieces;
}

void Engine::start_call(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  Device device = next_device(node).value_or(Device::any);
  Work work;
  if (!run.again.empty()) {
    work = run.again.front();
    run.again.pop_front();
    if (work.keeps) device = Device::any;  // nothing is called
  } else {
    work = {.index = run.next, .pieces = run_length(node, device)};
    run.next += work.pieces;
    skip_ahead(run);  // after a resume they are there
  }
  const PlannedCall& function = next_function(node, work, device);
  StartCall start{.call = {.run = options_.run, .number = next_call_++},
                  .node = node,
                  .work = {.node = node,
                           .stage = static_cast<std::uint32_t>(run.stage),
                           .generation = generation_,
                           .step = run.step,
                           .index = work.index,
                           .round = run.round,
                           .judges = work.judges,
                           .keeps = work.keeps},
                  .attempt = 1,
                  .function = &function,
                  .input = {},
                  .pieces = work.pieces,
                  .keeps = work.keeps,
                  .device = device};
  if (const auto failed = run.failures.find(work.index); failed != run.failures.end())
    start.attempt += failed->second;
  append_argument(node, work, start);
  for (const std::uint32_t port : function.ports) {
    const PlannedPort& planned = plan_->nodes[node].ports[port];
    give(planned.type, *value_of(planned.source), start);
  }
  for (const DataId& data : start.data)
    if (in_files_.contains(data)) start.kept.push_back(data);
  open_.emplace(start.call.number, OpenCall{.node = node,
                                            .work = work,
                                            .device = device,
                                            .is_variant = &function != &call_of(node, work)});
  ++run.open;
  actions_.emplace_back(std::move(start));
}

/// Nodes of one priority take turns.
void Engine::pump() {
  const std::uint32_t window = std::min(options_.window, open_calls_.value_or(options_.window));
  while (open_.size() < window && !queue_.empty()) {
    const std::uint32_t node = std::get<2>(*queue_.begin());
    queue_.erase(queue_.begin());
    nodes_[node].is_queued = false;
    if (can_start(node)) start_call(node);
    queue(node);
  }
}

}  // namespace orchid::flow
