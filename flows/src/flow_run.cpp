#include "flow_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "flow_run/flow_tuning.h"
#include "foundation/json_document.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_lines = 4096;
constexpr std::size_t most_calls_told = 32;  // of a node

std::string describe(const flow::Plan& plan, const flow::AttemptFailed& attempt) {
  return fmt::format("node '{}'{}{}, attempt {}: {}: {}", plan.nodes[attempt.node].name,
                     attempt.part.empty() ? "" : ", ", attempt.part, attempt.attempt,
                     attempt.outcome, attempt.message);
}

void append_event(std::string& out, std::string_view name, std::uint64_t id, const Json& data) {
  out += fmt::format("event: {}\nid: {}\ndata: {}\n\n", name, id, dump_text(data));
}

/// The nodes whose values this one takes, each once.
Json names_before(const flow::Plan& plan, std::uint32_t number) {
  std::set<std::uint32_t> sources;
  for (const flow::PlannedPort& port : plan.nodes[number].ports)
    if (port.source.kind == flow::Source::Kind::node) sources.insert(port.source.index);
  Json names = Json::array();
  for (const std::uint32_t source : sources) names.push_back(plan.nodes[source].name);
  return names;
}

}  // namespace

std::string dump_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string time_text(UnixMillis at) {
  const std::chrono::milliseconds since(at);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::time_t{seconds.count()}),
                     (since - seconds).count());
}

Result<std::unique_ptr<FlowRun>> FlowRun::create(ReadyFlow flow) {
  auto plan = std::make_unique<flow::Plan>(std::move(flow.plan));
  auto engine =
      flow::Engine::start(*plan, std::move(flow.inputs), {.window = flow_window, .run = 0});
  if (!engine) return fail(std::move(engine.error()));
  auto tuner = flow::make_tuner(*plan);
  if (!tuner) return fail(std::move(tuner.error()));
  return std::unique_ptr<FlowRun>(
      new FlowRun(std::move(plan), std::move(*engine), std::move(*tuner)));
}

FlowRun::FlowRun(std::unique_ptr<flow::Plan> plan, flow::Engine engine,
                 std::unique_ptr<flow::Tuner> tuner)
    : plan_(std::move(plan)),
      engine_(std::move(engine)),
      tuner_(std::move(tuner)),
      history_(plan_->nodes.size()) {}

FlowRun::Todo FlowRun::apply(const JournalEvent& event) {
  ++events_;
  last_at_ = event.at;
  last_wall_ = event.wall;
  const auto* answered = std::get_if<flow::Answered>(&event.event);
  const auto* failed = std::get_if<flow::CallFailed>(&event.event);
  if (answered != nullptr || failed != nullptr) {
    const auto call = open_.find(answered != nullptr ? answered->call.number : failed->call.number);
    if (call != open_.end()) {
      history_[call->second.node].changed = ++sequence_;  // its progress
      open_.erase(call);
    }
  }
  if (std::holds_alternative<flow::Tick>(event.event)) wake_.reset();
  if (std::holds_alternative<flow::Cancel>(event.event)) say("cancelled");
  if (std::holds_alternative<flow::GoOn>(event.event)) say("goes on");
  if (tuner_ != nullptr) tuner_->see(event.event, event.at);
  if (const auto* decided = std::get_if<flow::Decided>(&event.event))
    for (const flow::Advice& one : decided->nodes)
      if (one.node < history_.size()) history_[one.node].changed = ++sequence_;  // its reason
  Todo todo;
  for (flow::Action& action : engine_.apply(event.event, event.at)) {
    if (tuner_ != nullptr) tuner_->see(action, event.at);
    std::visit([&](auto& one) { act(one, todo); }, action);
  }
  return todo;
}

std::optional<flow::Decided> FlowRun::decide(flow::Time at) {
  if (tuner_ == nullptr || engine_.outcome() != flow::FlowOutcome::running) return std::nullopt;
  // How many workers the gateway has for it is not known here; no more than its calls.
  return tuner_->decide(engine_, {.workers = flow_window, .window = flow_window}, at);
}

void FlowRun::note(std::string text, UnixMillis at) {
  last_wall_ = at;
  say(std::move(text));
}

void FlowRun::act(flow::StartCall& call, Todo& todo) {
  todo.start.push_back(call.call.number);
  std::vector<std::uint64_t>& calls = history_[call.node].calls;
  if (!call.keeps) calls.push_back(call.call.number);
  if (calls.size() > most_calls_told) calls.erase(calls.begin());
  open_.insert_or_assign(call.call.number, std::move(call));
}

void FlowRun::act(const flow::StopCall& stop, Todo& todo) {
  todo.stop.push_back(stop.call.number);
  open_.erase(stop.call.number);
}

void FlowRun::act(const flow::NodeChanged& change, Todo& /*todo*/) {
  NodeHistory& node = history_[change.node];
  const std::string& name = plan_->nodes[change.node].name;
  if (change.state == flow::NodeState::running) {
    if (node.begun == 0) node.begun = last_wall_;
    node.ended = 0;
    say(fmt::format("{}: running", name));
  } else {
    node.ended = last_wall_;
    const flow::NodeProgress progress = engine_.progress(change.node);
    say(fmt::format("{}: {}, {} of {}", name, flow::to_string(change.state), progress.done,
                    progress.total));
  }
  node.changed = sequence_;
}

void FlowRun::act(const flow::AttemptFailed& attempt, Todo& /*todo*/) {
  say(describe(*plan_, attempt) + (attempt.again ? "; it is tried again" : ""), true);
}

void FlowRun::act(const flow::WakeAt& wake, Todo& /*todo*/) { wake_ = wake.at; }

void FlowRun::act(const flow::DropData& drop, Todo& todo) { todo.drop.push_back(drop.data); }

void FlowRun::act(flow::Prepare& next, Todo& todo) { todo.prepare.push_back(std::move(next)); }

void FlowRun::act(const flow::Ended& /*ended*/, Todo& /*todo*/) {
  wake_.reset();
  say(fmt::format("the flow is {}", flow::to_string(engine_.outcome())));
}

void FlowRun::say(std::string text, bool is_attempt) {
  log_.push_back({.sequence = ++sequence_,
                  .at = last_wall_,
                  .text = std::move(text),
                  .is_attempt = is_attempt});
  if (log_.size() <= most_lines) return;
  log_.pop_front();
  ++lines_left_out_;
}

std::string FlowRun::message() const {
  return engine_.failure() ? describe(*plan_, *engine_.failure()) : "";
}

Result<std::string> FlowRun::outputs() const {
  std::string text = "{";
  for (std::size_t i = 0; i < plan_->outputs.size(); ++i) {
    auto json = flow::json_of_value(plan_->outputs[i].type, *engine_.output(i));
    if (!json) return fail(std::move(json.error()));
    text += (i == 0 ? "" : ",") + dump_text(plan_->outputs[i].name) + ":" + *json;
  }
  return text + "}\n";
}

Json FlowRun::node(std::uint32_t number) const {
  const flow::NodeProgress progress = engine_.progress(number);
  Json json{{"node", plan_->nodes[number].name},
            {"kind", flow::to_string(plan_->nodes[number].kind)},
            {"state", flow::to_string(progress.state)},
            {"done", progress.done},
            {"total", progress.total}};
  if (history_[number].begun != 0) json["begun"] = time_text(history_[number].begun);
  if (history_[number].ended != 0) json["ended"] = time_text(history_[number].ended);
  if (tuner_ != nullptr && !tuner_->why(number).empty()) json["why"] = tuner_->why(number);
  return json;
}

std::string FlowRun::nodes() const {
  std::string list = "[";
  for (std::uint32_t i = 0; i < history_.size(); ++i) {
    Json one = node(i);
    one["after"] = names_before(*plan_, i);
    one["calls"] = history_[i].calls;
    list += (i == 0 ? "" : ",") + dump_text(one);
  }
  return list + "]";
}

std::string FlowRun::news(std::uint64_t since) const {
  std::multimap<std::uint64_t, std::pair<const char*, Json>> events;  // by sequence
  for (std::uint32_t i = 0; i < history_.size(); ++i)
    if (history_[i].changed > since)
      events.emplace(history_[i].changed, std::pair("node", node(i)));
  for (const LogLine& line : log_)
    if (line.is_attempt && line.sequence > since)
      events.emplace(line.sequence, std::pair("attempt", Json{{"at", time_text(line.at)},
                                                              {"message", line.text}}));
  std::string text;
  for (const auto& [sequence, event] : events)
    append_event(text, event.first, sequence, event.second);
  return text;
}

std::string FlowRun::log() const {
  std::string text;
  if (lines_left_out_ > 0) text = fmt::format("… {} lines before these\n", lines_left_out_);
  for (const LogLine& line : log_) text += fmt::format("{} {}\n", time_text(line.at), line.text);
  return text;
}

}  // namespace orchid::flows
