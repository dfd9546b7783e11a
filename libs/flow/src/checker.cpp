#include "flow/checker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fields.h"
#include "function_table.h"
#include "order.h"
#include "ports.h"
#include "scope.h"

namespace orchid::flow {
namespace {

constexpr std::size_t deepest_flow = 16;
constexpr std::size_t most_nodes = 1'000'000;  // of all flows that are taken apart

/// "a.b" is a and b; "a" is a and nothing.
std::pair<std::string, std::string> halves(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return {text, {}};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

template <typename List, typename NameOf>
std::string names_of(const List& list, NameOf name_of) {
  std::vector<std::string> names;
  for (const auto& one : list) {
    if (names.size() == 20) {
      names.emplace_back("…");
      break;
    }
    names.push_back(name_of(one));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// Checks one document, and by others of its kind the flows that are nodes of it.
class Checker {
 public:
  Checker(const Document& document, const Surroundings& surroundings,
          std::vector<std::string> above, std::size_t& nodes)
      : document_(document),
        surroundings_(surroundings),
        above_(std::move(above)),
        nodes_(nodes),
        list_(document.file),
        table_(document, surroundings, list_) {
    above_.push_back(document.file);
  }

  Scope run() {
    scope_.name = document_.name.text;
    check_name(document_.name, "a flow");
    read_inputs();
    nodes_ += document_.nodes.size();
    scope_.nodes.reserve(document_.nodes.size());
    uses_of_nodes_.reserve(document_.nodes.size());
    for (const Node& node : document_.nodes) add_node(node);
    for (const Edge& edge : document_.edges) add_edge(edge);
    read_outputs();
    find_what_nobody_takes();
    find_unconnected_ports();
    put_in_order();
    for (Fault& fault : list_.take()) faults_.push_back(std::move(fault));
    if (faults_.empty()) find_durable_of_nobody(document_, scope_, faults_);
    return std::move(scope_);
  }
  [[nodiscard]] std::vector<Fault> take_faults() { return std::move(faults_); }

 private:
  template <typename... Args>
  void fault(Place place, fmt::format_string<Args...> text, Args&&... args) {
    list_.add(place, fmt::format(text, std::forward<Args>(args)...));
  }

  void check_name(const Word& name, std::string_view what) {
    if (!name.text.empty() && !is_name(name.text))
      fault(name.place,
            "'{}' cannot be the name of {}: 1 to 64 letters, digits, '-' and '_', a letter first",
            name.text, what);
  }

  void claim_name(const Word& name, std::string_view what) {
    check_name(name, what);
    if (!names_.emplace(name.text, what).second && names_.at(name.text) != what)
      fault(name.place, "'{}' is the name of an input and of a node; rename one", name.text);
  }

  void read_inputs() {
    for (const auto& [name, type] : document_.inputs) {
      claim_name(name, "an input");
      auto parsed = parse_port_type(type.text);
      if (!parsed) fault(type.place, "{}", parsed.error().message);
      input_numbers_.emplace(name.text, scope_.inputs.size());
      scope_.inputs.push_back({.name = name.text, .type = parsed ? *parsed : PortType{}});
      known_inputs_.push_back(parsed.has_value());
      uses_of_inputs_.push_back(0);
    }
  }

  void add_node(const Node& node) {
    claim_name(node.name, "a node");
    for (const Word& port : node.takes) check_name(port, "a port");
    std::set<std::string_view> ports;
    for (const Word& port : node.takes)
      if (!ports.insert(port.text).second)
        fault(port.place, "node '{}' has two ports '{}'; rename one", node.name.text, port.text);
    ScopeNode one{.name = node.name.text, .planned = {}, .flow = nullptr, .sources = {}};
    if (node.kind == NodeKind::flow) {
      add_flow(node, one);
    } else if (auto planned = shape_of(
                   node, [this](const Word& function) { return table_.type_of(function); },
                   list_)) {
      one.planned = std::move(*planned);
      one.is_known = true;
    }
    one.sources.resize(one.planned.ports.size());
    uses_of_nodes_.emplace_back(one.flow ? one.flow->outputs.size() : 1, 0);
    node_numbers_.emplace(node.name.text, scope_.nodes.size());
    scope_.nodes.push_back(std::move(one));
  }

  void add_flow(const Node& node, ScopeNode& one) {
    if (node.file.text.empty()) return;  // a fault of the document
    if (nodes_ > most_nodes) {
      fault(node.file.place, "flows with more than {} nodes in all are not taken apart",
            most_nodes);
      return;
    }
    if (above_.size() >= deepest_flow) {
      fault(node.file.place, "flows are nested more than {} deep here", deepest_flow);
      return;
    }
    if (!surroundings_.open) {
      fault(node.file.place, "flows that are nodes cannot be read here");
      return;
    }
    const auto opened = surroundings_.open(node.file.text, document_.file);
    if (!opened) {
      fault(node.file.place, "{}", opened.error().message);
      return;
    }
    if (std::ranges::find(above_, opened->file) != above_.end()) {
      fault(node.file.place, "'{}' would be a node of itself: {} -> {}", opened->file,
            fmt::join(above_, " -> "), opened->file);
      return;
    }
    Parsed parsed = parse_document(opened->text, opened->file);
    if (!parsed.faults.empty()) {
      std::ranges::move(parsed.faults, std::back_inserter(faults_));
      return;
    }
    Checker inner(parsed.document, surroundings_, above_, nodes_);
    one.flow = std::make_unique<Scope>(inner.run());
    auto faults = inner.take_faults();
    one.is_known = faults.empty();
    std::ranges::move(faults, std::back_inserter(faults_));
    for (const PlannedInput& input : one.flow->inputs)
      one.planned.ports.push_back({.name = input.name, .type = input.type, .source = {}});
  }

  /// Nothing: a fault has been told, or is the reason for it. With the type of the value.
  std::optional<std::pair<ScopeSource, PortType>> source_of(const Word& from) {
    const auto [name, output] = halves(from.text);
    const auto input = input_numbers_.find(name);
    if (input != input_numbers_.end() && output.empty()) {
      const std::size_t index = input->second;
      ++uses_of_inputs_[index];
      if (!known_inputs_[index]) return std::nullopt;
      return {{{.kind = Source::Kind::input, .index = index, .constant = {}},
               scope_.inputs[index].type}};
    }
    const auto number = node_numbers_.find(name);
    if (number == node_numbers_.end()) {
      fault(from.place, "there is no node or input '{}'; there are: {}", name,
            names_of(names_, [](const auto& one) { return one.first; }));
      return std::nullopt;
    }
    const std::size_t index = number->second;
    const ScopeNode* node = &scope_.nodes[index];
    ScopeSource source{.kind = Source::Kind::node, .index = index, .constant = {}};
    if (node->flow) return output_of(from, *node, output, source);
    ++uses_of_nodes_[index][0];
    if (!node->is_known) return std::nullopt;  // also a flow that cannot be read
    if (!output.empty()) {
      fault(from.place, "node '{}' has one output, without a name; write '{}'", name, name);
      return std::nullopt;
    }
    return {{source, node->planned.gives}};
  }

  std::optional<std::pair<ScopeSource, PortType>> output_of(const Word& from, const ScopeNode& node,
                                                            const std::string& output,
                                                            ScopeSource source) {
    const auto& outputs = node.flow->outputs;
    const auto found = output.empty() && outputs.size() == 1
                           ? outputs.begin()
                           : std::ranges::find(outputs, output, &ScopeOutput::name);
    if (found == outputs.end()) {
      if (node.is_known)
        fault(from.place, "say which output of flow '{}' is meant, as '{}.NAME'; it has: {}",
              node.name, node.name, names_of(outputs, [](const auto& one) { return one.name; }));
      return std::nullopt;
    }
    source.output = static_cast<std::size_t>(found - outputs.begin());
    ++uses_of_nodes_[source.index][source.output];
    if (!node.is_known) return std::nullopt;
    return {{source, found->type}};
  }

  /// The node and the number of its port; nothing: a fault, or the reason of one.
  std::optional<std::pair<ScopeNode*, std::size_t>> port_of(const Word& to) {
    const auto [name, port] = halves(to.text);
    const auto number = node_numbers_.find(name);
    if (number == node_numbers_.end()) {
      fault(to.place, "there is no node '{}'; there are: {}", name,
            names_of(scope_.nodes, [](const ScopeNode& one) { return one.name; }));
      return std::nullopt;
    }
    ScopeNode* node = &scope_.nodes[number->second];
    if (!node->is_known) return std::nullopt;
    auto& ports = node->planned.ports;
    const auto found = port.empty() && ports.size() == 1
                           ? ports.begin()
                           : std::ranges::find(ports, port, &PlannedPort::name);
    if (found == ports.end()) {
      fault(to.place, "node '{}' has no port '{}'; it has: {}", name, port,
            names_of(ports, [](const PlannedPort& one) { return one.name; }));
      return std::nullopt;
    }
    return {{node, static_cast<std::size_t>(found - ports.begin())}};
  }

  void add_edge(const Edge& edge) {
    const auto source = edge.json || edge.from.text.empty() ? std::nullopt : source_of(edge.from);
    if (edge.to.text.empty()) return;
    const auto port = port_of(edge.to);
    if (!port) return;
    auto& [node, number] = *port;
    const PlannedPort& planned = node->planned.ports[number];
    if (node->sources[number]) {
      fault(edge.to.place, "two edges end at port '{}' of node '{}'; take one away", planned.name,
            node->name);
      return;
    }
    // A port that has a wrong edge is not told to have none as well.
    node->sources[number] = source ? source->first : ScopeSource{};
    node->sources[number]->durable = edge.durable;
    if (edge.durable) check_durable(edge, planned.type);
    if (edge.json) {
      node->sources[number] = constant_of(edge, *node, number);
    } else if (source && source->second != planned.type) {
      fault(edge.place, "'{}' is {}, and port '{}' of node '{}' takes {}", edge.from.text,
            to_string(source->second), planned.name, node->name, to_string(planned.type));
    }
  }

  /// Only data objects can be lost.
  void check_durable(const Edge& edge, const PortType& type) {
    if (!type.is_data())
      fault(edge.place,
            "what comes to '{}' is {}, a value, which is kept with the flow: 'durable' is for data "
            "objects; take it away",
            edge.to.text, to_string(type));
  }

  ScopeSource constant_of(const Edge& edge, const ScopeNode& node, std::size_t number) {
    const PlannedPort& port = node.planned.ports[number];
    ScopeSource source{.kind = Source::Kind::constant, .constant = {}};
    auto value = value_of_json(port.type, *edge.json);
    if (!value) {
      fault(edge.place, "port '{}' of node '{}' takes {}: {}", port.name, node.name,
            to_string(port.type), value.error().message);
      return source;
    }
    const bool is_about =
        number == 0 && !node.planned.partition.exists() &&
        (node.planned.kind == NodeKind::map || node.planned.kind == NodeKind::reduce);
    if (!node.flow && is_about && count_of(*value) == 0)
      fault(edge.place, "node '{}' would have nothing to do: the list is empty", node.name);
    source.constant = std::make_shared<const Bytes>(std::move(*value));
    return source;
  }

  void read_outputs() {
    for (const auto& [name, from] : document_.outputs) {
      check_name(name, "an output");
      const auto source = source_of(from);
      if (source && source->second.is_nothing())
        fault(from.place, "'{}' gives nothing (void), so that it cannot be an output", from.text);
      // Also when it has a fault, so that those who name it are not told to be wrong.
      scope_.outputs.push_back({.name = name.text,
                                .type = source ? source->second : PortType{},
                                .source = source ? source->first : ScopeSource{}});
    }
  }

  void find_what_nobody_takes() {
    for (std::size_t i = 0; i < document_.inputs.size(); ++i)
      if (uses_of_inputs_[i] == 0)
        fault(document_.inputs[i].first.place,
              "nobody takes input '{}'; add an edge from it, or take it away",
              document_.inputs[i].first.text);
    for (std::size_t i = 0; i < scope_.nodes.size(); ++i) {
      const ScopeNode& node = scope_.nodes[i];
      const auto& uses = uses_of_nodes_[i];
      const bool is_taken =
          uses.empty() || std::ranges::any_of(uses, [](unsigned count) { return count != 0; });
      if (node.is_known && !is_taken && !(node.flow == nullptr && node.planned.gives.is_nothing()))
        fault(document_.nodes[i].name.place,
              "nobody takes what node '{}' gives; add an edge from it, or name it in 'outputs'",
              node.name);
    }
  }

  void find_unconnected_ports() {
    for (std::size_t i = 0; i < scope_.nodes.size(); ++i)
      for (std::size_t port = 0; port < scope_.nodes[i].sources.size(); ++port)
        if (!scope_.nodes[i].sources[port] && scope_.nodes[i].is_known)
          fault(document_.nodes[i].name.place,
                "nothing comes to port '{}' ({}) of node '{}'; add an edge to '{}.{}'",
                scope_.nodes[i].planned.ports[port].name,
                to_string(scope_.nodes[i].planned.ports[port].type), scope_.nodes[i].name,
                scope_.nodes[i].name, scope_.nodes[i].planned.ports[port].name);
  }

  void put_in_order() {
    Order order = order_of(scope_.nodes);
    if (!order.cycle.empty()) {
      std::string path;
      for (const std::size_t node : order.cycle) path += scope_.nodes[node].name + " -> ";
      fault(document_.nodes[order.cycle.front()].name.place,
            "these nodes wait for each other: {}{}; take an edge away, or use a node of kind "
            "iterate",
            path, scope_.nodes[order.cycle.front()].name);
    }
    scope_.order = std::move(order.nodes);
  }

  const Document& document_;
  const Surroundings& surroundings_;
  std::vector<std::string> above_;  // files, the outermost first, this one last
  std::size_t& nodes_;              // so far, of all documents
  FaultList list_;
  FunctionTable table_;
  std::vector<Fault> faults_;
  Scope scope_;
  std::map<std::string, std::string_view> names_;  // of inputs and nodes
  std::map<std::string, std::size_t> input_numbers_, node_numbers_;
  std::vector<bool> known_inputs_;  // whose type is known
  std::vector<unsigned> uses_of_inputs_;
  std::vector<std::vector<unsigned>> uses_of_nodes_;  // of each output
};

}  // namespace

Checked check(const Document& document, const Surroundings& surroundings) {
  std::size_t nodes = 0;
  // Asked once, so that flows in flows see the same version of a function.
  std::map<std::string, KnownFunction> known;
  Surroundings once = surroundings;
  if (surroundings.function)
    once.function = [&](const std::string& reference) {
      auto found = known.find(reference);
      if (found == known.end())
        found = known.emplace(reference, surroundings.function(reference)).first;
      return found->second;
    };
  Checker checker(document, once, {}, nodes);
  Scope scope = checker.run();
  Checked checked{.plan = {}, .faults = checker.take_faults(), .shapes = {}};
  sort(checked.faults);
  checked.shapes.reserve(scope.nodes.size());
  for (const ScopeNode& node : scope.nodes) checked.shapes.push_back(shape_of(node));
  if (checked.faults.empty()) checked.plan = plan_of(std::move(scope));
  for (const OptimiserChoice& choice : document.optimisers) {
    PlannedOptimiser& planned = checked.plan.optimisers.emplace_back();
    planned.name = choice.name.text;
    for (const auto& [name, value] : choice.options) planned.options[name.text] = value.text;
  }
  if (checked.faults.empty()) find_files(document, surroundings, checked);
  keep_known(known, checked.plan);
  return checked;
}

}  // namespace orchid::flow
