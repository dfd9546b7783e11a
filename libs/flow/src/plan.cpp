#include "flow/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "flow/devices.h"
#include "foundation/amounts.h"
#include "scope.h"

namespace orchid::flow {
namespace {

/// Takes scopes apart, the outermost first.
class Flattening {
 public:
  explicit Flattening(Plan& plan) : plan_(plan) {}

  /// The sources of the scope's outputs, given those of its inputs.
  std::vector<Source> add(Scope& scope, const std::string& prefix,
                          const std::vector<Source>& inputs) {
    std::vector<std::vector<Source>> gives(scope.nodes.size());
    const auto resolve = [&](const ScopeSource& source) -> Source {
      if (source.kind == Source::Kind::input) return inputs[source.index];
      if (source.kind == Source::Kind::node) return gives[source.index][source.output];
      plan_.constants.push_back(source.constant);
      return {.kind = Source::Kind::constant,
              .index = static_cast<std::uint32_t>(plan_.constants.size() - 1)};
    };
    for (const std::size_t number : scope.order) {
      ScopeNode& node = scope.nodes[number];
      std::vector<Source> sources;
      sources.reserve(node.sources.size());
      for (const auto& source : node.sources) {
        sources.push_back(resolve(*source));
        if (source->durable && sources.back().kind == Source::Kind::node)
          plan_.nodes[sources.back().index].keeps_value = true;
      }
      gives[number] = node.flow ? add(*node.flow, prefix + node.name + "/", sources)
                                : std::vector{add_node(node, prefix, sources)};
    }
    std::vector<Source> outputs;
    for (const ScopeOutput& output : scope.outputs) outputs.push_back(resolve(output.source));
    return outputs;
  }

 private:
  Source add_node(ScopeNode& node, const std::string& prefix, const std::vector<Source>& sources) {
    const auto number = static_cast<std::uint32_t>(plan_.nodes.size());
    PlannedNode planned = std::move(node.planned);
    planned.name = prefix + node.name;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      planned.ports[i].source = sources[i];
      if (sources[i].kind == Source::Kind::node)
        plan_.nodes[sources[i].index].consumers.push_back(number);
    }
    plan_.nodes.push_back(std::move(planned));
    return {.kind = Source::Kind::node, .index = number};
  }

  Plan& plan_;
};

std::size_t count_nodes(const Scope& scope) {
  std::size_t count = 0;
  for (const ScopeNode& node : scope.nodes) count += node.flow ? count_nodes(*node.flow) : 1;
  return count;
}

std::string name_of(const Plan& plan, const Source& source) {
  switch (source.kind) {
    case Source::Kind::input:
      return plan.inputs[source.index].name;
    case Source::Kind::node:
      return plan.nodes[source.index].name;
    case Source::Kind::constant:
      return "";
  }
  return "";
}

/// A constant's value, or a name.
std::string text_of(const Plan& plan, const PortType& type, const Source& source) {
  if (source.kind != Source::Kind::constant) return name_of(plan, source);
  constexpr std::size_t longest = 40;
  const auto json = json_of_value(type, *plan.constants[source.index]);
  if (!json) return "?";
  if (json->size() <= longest) return *json;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>((*json)[end]) & 0xC0U) == 0x80U) --end;
  return json->substr(0, end) + "…";
}

std::string calls_of(const PlannedNode& node) {
  std::string text;
  const auto add = [&text](std::string_view role, const PlannedCall& call) {
    if (call.exists()) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", role, call.function);
  };
  const bool hands_out = node.kind == NodeKind::master;
  const bool divides = node.kind == NodeKind::divide;
  add(hands_out ? "hand_out " : divides ? "divide " : "partition ", node.partition);
  add(node.kind == NodeKind::map || hands_out ? "each "
      : divides                               ? "solve "
      : node.kind == NodeKind::condition      ? "then "
                                              : "",
      node.main);
  for (const PlannedCall& variant : node.variants) add("or ", variant);
  add("else ", node.if_false);
  add(hands_out ? "gather " : divides ? "combine " : "merge ", node.merge);
  if (node.kind == NodeKind::reduce) text += fmt::format(", groups of {}", node.fan);
  if (node.is_step) text += fmt::format(", in batches of {}", batch_text(node));
  if (node.kind == NodeKind::iterate && node.times != no_bound)
    text += fmt::format(", at most {} times", node.times);
  if (node.durable != 0) text += fmt::format(", each {}. state kept as a file", node.durable);
  if (node.keeps_value && node.durable == 0) text += ", kept as a file";
  add("until ", node.until);
  if (node.ends == Until::found) text += ", until found";
  return text;
}

/// FNV-1a: it tells plans apart that differ by accident, and nobody gains from a forged one.
std::uint64_t fingerprint_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::string signature_text(const PlannedNode& node) {
  std::string text;
  for (const PlannedCall* call :
       {&node.main, &node.partition, &node.merge, &node.if_false, &node.until})
    text += fmt::format("{} {} {};", call->function, call->signature, fmt::join(call->ports, ","));
  text += fmt::format("{} {} {}", node.fan, node.times, to_string(node.pieces));
  if (node.is_step) text += fmt::format(" {} {}", node.budget.count(), node.steps);
  return text + (node.keeps_value ? fmt::format(" kept {}", node.durable) : "");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Plan plan_of(Scope scope) {
  Plan plan;
  plan.nodes.reserve(count_nodes(scope));
  plan.name = scope.name;
  plan.inputs = scope.inputs;
  std::vector<Source> inputs;
  for (std::uint32_t i = 0; i < plan.inputs.size(); ++i)
    inputs.push_back({.kind = Source::Kind::input, .index = i});
  const std::vector<Source> outputs = Flattening(plan).add(scope, "", inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    plan.outputs.push_back(
        {.name = scope.outputs[i].name, .type = scope.outputs[i].type, .source = outputs[i]});
    if (outputs[i].kind == Source::Kind::node) plan.nodes[outputs[i].index].is_output = true;
  }
  std::string whole = to_text(plan);
  for (const PlannedNode& node : plan.nodes) whole += signature_text(node);
  for (const Value& constant : plan.constants)
    whole.append(reinterpret_cast<const char*>(constant->data()), constant->size());
  plan.fingerprint = fingerprint_of(whole);
  return plan;
}

std::string batch_text(const PlannedNode& node) {
  std::string text = node.budget.count() == 0 ? "" : to_duration_text(node.budget);
  if (node.steps != 0) text += fmt::format("{}{} steps", text.empty() ? "" : " or ", node.steps);
  return text;
}

bool has_constraints(const Plan& plan) {
  return std::ranges::any_of(plan.nodes,
                             [](const PlannedNode& node) { return node.constraints.exist(); });
}

void find_choices_of_devices(Plan& plan) {
  if (std::ranges::find(plan.optimisers, "device", &PlannedOptimiser::name) ==
      plan.optimisers.end())
    return;
  for (PlannedNode& node : plan.nodes) {
    const bool has_one_function = node.kind == NodeKind::call || node.kind == NodeKind::map ||
                                  node.kind == NodeKind::reduce || node.kind == NodeKind::iterate;
    const auto needs = plan.needs.find(node.main.function);
    if (has_one_function && node.constraints.device.empty() && needs != plan.needs.end())
      node.cores_of_call = cores_beside_gpu(needs->second);
  }
}

void find_choices_of_variants(Plan& plan) {
  const bool tries =
      std::ranges::find(plan.optimisers, "grid", &PlannedOptimiser::name) != plan.optimisers.end();
  // Batches of a step function last as long as they may, whatever makes the steps.
  for (PlannedNode& node : plan.nodes)
    node.chooses_variant = tries && !node.variants.empty() && !node.is_step;
}

const std::string& exact_name(const Plan& plan, const std::string& function) {
  const auto found = plan.exact.find(function);
  return found == plan.exact.end() ? function : found->second;
}

std::vector<std::pair<std::string, std::string>> functions_of(const Plan& plan) {
  std::map<std::string, std::string> functions;
  for (const PlannedNode& node : plan.nodes) {
    for (const PlannedCall* call :
         {&node.main, &node.partition, &node.merge, &node.if_false, &node.until})
      if (call->exists()) functions.emplace(call->function, call->signature);
    for (const PlannedCall& variant : node.variants)
      functions.emplace(variant.function, variant.signature);
  }
  return {functions.begin(), functions.end()};
}

std::string to_text(const Plan& plan) {
  std::string text = fmt::format("flow {}\n", plan.name);
  for (const PlannedOptimiser& optimiser : plan.optimisers)
    text += fmt::format("  optimised by {}\n", optimiser.name);
  for (const PlannedInput& input : plan.inputs)
    text += fmt::format("  input   {}: {}\n", input.name, to_string(input.type));
  for (const PlannedNode& node : plan.nodes) {
    text += fmt::format("  {:<7} {}: {} gives {}\n", to_string(node.kind), node.name,
                        calls_of(node), to_string(node.gives));
    for (const PlannedPort& port : node.ports)
      text += fmt::format("          {}: {} <- {}\n", port.name, to_string(port.type),
                          text_of(plan, port.type, port.source));
  }
  for (const PlannedOutput& output : plan.outputs)
    text += fmt::format("  output  {}: {} <- {}\n", output.name, to_string(output.type),
                        text_of(plan, output.type, output.source));
  return text;
}

std::string to_dot(const Plan& plan) {
  std::string text = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, style=rounded, "
      "fontname=\"sans-serif\", "
      "fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n",
      escaped(plan.name));
  const auto id = [&](const Source& source) {
    return fmt::format("{}{}", source.kind == Source::Kind::input ? "i" : "n", source.index);
  };
  for (std::uint32_t i = 0; i < plan.inputs.size(); ++i)
    text += fmt::format("  i{} [label=\"{}\", shape=plain];\n", i, escaped(plan.inputs[i].name));
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i)
    text += fmt::format("  n{} [label=\"{}\\n{}: {}\"];\n", i, escaped(plan.nodes[i].name),
                        to_string(plan.nodes[i].kind), escaped(calls_of(plan.nodes[i])));
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i)
    for (const PlannedPort& port : plan.nodes[i].ports)
      if (port.source.kind != Source::Kind::constant)
        text +=
            fmt::format("  {} -> n{} [label=\"{}\"];\n", id(port.source), i, escaped(port.name));
  for (std::uint32_t i = 0; i < plan.outputs.size(); ++i)
    text += fmt::format("  o{0} [label=\"{1}\", shape=plain];\n  {2} -> o{0};\n", i,
                        escaped(plan.outputs[i].name), id(plan.outputs[i].source));
  return text + "}\n";
}

}  // namespace orchid::flow
