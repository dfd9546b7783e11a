#include "orchid/flow.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "orchid/error.h"

namespace orchid {

namespace sdk {

/// Parts with names, in the order in which they were added. A name that is used again replaces what
/// had it.
class NamedParts {
 public:
  using Json = nlohmann::ordered_json;
  void set(std::string_view name, Json part) {
    auto& parts = json_.get_ref<Json::object_t&>();
    const auto [known, is_new] = places_.emplace(name, parts.size());
    if (is_new)
      parts.emplace_back(std::string(name), std::move(part));
    else
      std::next(parts.begin(), static_cast<std::ptrdiff_t>(known->second))->second =
          std::move(part);
  }
  [[nodiscard]] const Json& json() const { return json_; }

 private:
  Json json_ = Json::object();
  std::map<std::string, std::size_t> places_;  // since the object looks for a name from its begin
};

struct FlowDocument {
  using Json = NamedParts::Json;
  std::string name;
  NamedParts functions;
  NamedParts inputs;
  NamedParts nodes;
  Json edges = Json::array();
  NamedParts outputs;
  Json optimisers = Json::array();
};

}  // namespace sdk

namespace {

using FlowJson = sdk::FlowDocument::Json;

FlowJson json_of(const FlowStep& step) {
  if (step.takes.empty() && !step.takes_no_port) return step.function;
  return {{"function", step.function}, {"takes", step.takes}};
}

std::string milliseconds_text(std::chrono::milliseconds duration) {
  return std::to_string(duration.count()) + "ms";
}

FlowJson node_of(const char* kind, const FlowNodeOptions& options) {
  FlowJson node{{"kind", kind}};
  if (!options.takes.empty()) node["takes"] = options.takes;
  if (!options.variants.empty()) node["variants"] = options.variants;
  if (options.window != 0) node["window"] = options.window;
  if (options.deadline.count() != 0) node["deadline"] = milliseconds_text(options.deadline);
  if (!options.host_kind.empty()) node["constraints"]["kind"] = options.host_kind;
  if (!options.device.empty()) node["constraints"]["device"] = options.device;
  if (!options.cluster.empty()) node["constraints"]["cluster"] = options.cluster;
  const FlowRetry usual;
  FlowJson retry = FlowJson::object();
  if (options.retry.attempts != usual.attempts) retry["attempts"] = options.retry.attempts;
  if (options.retry.back_off != usual.back_off)
    retry["back_off"] = milliseconds_text(options.retry.back_off);
  if (!options.retry.outcomes.empty()) retry["outcomes"] = options.retry.outcomes;
  if (!retry.empty()) node["retry"] = retry;
  return node;
}

void add_until(FlowJson& node, bool found, const std::string& function) {
  if (found && !function.empty())
    throw Error({.kind = ErrorKind::bad_request,
                 .message = "a node has until_found, and until = '" + function + "' as well",
                 .hint = "set one of them"});
  if (found) node["until"] = "found";
  if (!function.empty()) node["until"] = {{"function", function}};
}

}  // namespace

Flow::Flow(std::string_view name) : document_(std::make_unique<sdk::FlowDocument>()) {
  document_->name = name;
}
Flow::Flow(Flow&&) noexcept = default;
Flow& Flow::operator=(Flow&&) noexcept = default;
Flow::~Flow() = default;

void Flow::declare(std::string_view function, std::string_view signature) {
  document_->functions.set(function, signature);
}

FlowPlace Flow::input(std::string_view name, std::string_view type) {
  document_->inputs.set(name, type);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::call(std::string_view name, std::string_view function,
                     const FlowNodeOptions& options) {
  FlowJson node = node_of("call", options);
  node["function"] = function;
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::map(std::string_view name, const FlowMap& map) {
  FlowNodeOptions options = map.node;
  options.takes = map.takes;
  FlowJson node = node_of("map", options);
  if (!map.partition.function.empty()) node["partition"] = json_of(map.partition);
  node["each"] = json_of(map.each);
  if (!map.merge.empty()) node["merge"] = map.merge;
  add_until(node, map.until_found, map.until);
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::reduce(std::string_view name, const FlowReduce& reduce) {
  FlowJson node = node_of("reduce", reduce.node);
  node["function"] = reduce.function;
  node["fan"] = reduce.fan;
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::iterate(std::string_view name, const FlowIterate& iterate) {
  FlowJson node = node_of("iterate", iterate.node);
  node["function"] = iterate.function;
  const bool has_budget = iterate.budget.count() != 0 || iterate.steps != 0;
  if (iterate.times != 0 || !has_budget) node["times"] = std::max(iterate.times, 1U);
  if (iterate.budget.count() != 0) node["budget"] = milliseconds_text(iterate.budget);
  if (iterate.steps != 0) node["steps"] = iterate.steps;
  if (iterate.durable != 0) node["durable"] = iterate.durable;
  add_until(node, iterate.until_found, iterate.until);
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::choose(std::string_view name, const FlowChoice& choice) {
  FlowJson node = node_of("if", choice.node);
  node["then"] = choice.if_true;
  node["else"] = choice.if_false;
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::master(std::string_view name, const FlowMaster& master) {
  FlowJson node = node_of("master", master.node);
  node["hand_out"] = json_of(master.hand_out);
  node["each"] = json_of(master.each);
  node["gather"] = master.gather;
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::divide(std::string_view name, const FlowDivide& division) {
  FlowJson node = node_of("divide", division.node);
  node["divide"] = division.divide;
  node["solve"] = json_of(division.solve);
  node["combine"] = division.combine;
  document_->nodes.set(name, node);
  return FlowPlace(std::string(name));
}

FlowPlace Flow::flow(std::string_view name, std::string_view file) {
  document_->nodes.set(name, {{"kind", "flow"}, {"file", file}});
  return FlowPlace(std::string(name));
}

void Flow::connect(const FlowPlace& from, const FlowPlace& to, const FlowEdge& edge) {
  FlowJson json{{"from", from.name()}, {"to", to.name()}};
  if (edge.durable) json["durable"] = true;
  document_->edges.push_back(std::move(json));
}

void Flow::set(const FlowPlace& to, std::string_view json) {
  FlowJson value = FlowJson::parse(json, nullptr, false);
  if (value.is_discarded())
    throw Error({.kind = ErrorKind::bad_request,
                 .message = "the value of '" + to.name() + "' is no JSON: " + std::string(json),
                 .hint = "write a text between quotes"});
  FlowJson edge = FlowJson::object();
  edge["value"] = std::move(value);
  edge["to"] = to.name();
  document_->edges.push_back(std::move(edge));
}

void Flow::output(std::string_view name, const FlowPlace& from) {
  document_->outputs.set(name, from.name());
}

void Flow::optimise(std::string_view optimiser, std::string_view options) {
  FlowJson given = FlowJson::parse(options, nullptr, false);
  if (!given.is_object())
    throw Error({.kind = ErrorKind::bad_request,
                 .message = "the options of optimiser '" + std::string(optimiser) +
                            "' are no JSON object: " + std::string(options),
                 .hint = R"(write them as {"watts": 120})"});
  if (given.empty()) {
    document_->optimisers.push_back(optimiser);
    return;
  }
  FlowJson choice = FlowJson::object();
  choice[std::string(optimiser)] = std::move(given);
  document_->optimisers.push_back(std::move(choice));
}

std::string Flow::json() const {
  FlowJson json{{"flow", document_->name}};
  if (!document_->optimisers.empty()) json["optimise"] = document_->optimisers;
  if (!document_->functions.json().empty()) json["functions"] = document_->functions.json();
  json["inputs"] = document_->inputs.json();
  json["nodes"] = document_->nodes.json();
  json["edges"] = document_->edges;
  json["outputs"] = document_->outputs.json();
  return json.dump(2, ' ', false, FlowJson::error_handler_t::replace) + "\n";
}

}  // namespace orchid
