#include "flow/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "fields.h"
#include "flow/variants.h"
#include "item.h"
#include "optimiser_choices.h"

namespace orchid::flow {
namespace {

struct KindName {
  NodeKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 8> kinds{{{NodeKind::call, "call"},
                                         {NodeKind::map, "map"},
                                         {NodeKind::reduce, "reduce"},
                                         {NodeKind::iterate, "iterate"},
                                         {NodeKind::condition, "if"},
                                         {NodeKind::master, "master"},
                                         {NodeKind::divide, "divide"},
                                         {NodeKind::flow, "flow"}}};
/// Their words are kept for what is to come.
constexpr std::array<std::string_view, 1> reserved_kinds{"gang"};

constexpr std::uint32_t most_attempts = 100;
constexpr std::chrono::hours longest_deadline{24};  // the platform's own bound
constexpr std::uint32_t largest_fan = 65536;
constexpr std::uint32_t largest_window = 65536;

/// A function's name, or a map of it and of what it takes.
Step step_of(const Item* item, const std::string& what, FaultList& faults) {
  Step step;
  if (item == nullptr) return step;
  if (item->kind == ItemKind::scalar) {
    step.function = word_of(*item, what, faults);
    return step;
  }
  Fields fields(*item, what, faults);
  step.function = fields.needed_word("function");
  step.says_takes = fields.find("takes") != nullptr;
  step.takes = fields.words("takes");
  fields.refuse_others();
  return step;
}

class NodeReader {
 public:
  NodeReader(const Word& name, const Item& item, FaultList& faults)
      : what_("node '" + name.text + "'"), fields_(item, what_, faults), faults_(faults) {
    node_.name = name;
  }

  Node read() {
    const Word kind = fields_.needed_word("kind");
    const auto* const known = std::ranges::find(kinds, kind.text, &KindName::name);
    if (known == kinds.end()) {
      if (!kind.text.empty()) refuse(kind);
      return std::move(node_);  // its other fields are those of a kind that we do not know
    }
    node_.kind = known->kind;
    read_of_kind();
    if (node_.kind != NodeKind::flow) read_of_calls();
    fields_.refuse_others();
    return std::move(node_);
  }

 private:
  void refuse(const Word& kind) {
    if (std::ranges::find(reserved_kinds, kind.text) != reserved_kinds.end()) {
      faults_.add(kind.place,
                  fmt::format("nodes of kind '{}' are not there yet; the word is kept for them",
                              kind.text));
      return;
    }
    std::vector<std::string_view> names;
    for (const KindName& one : kinds) names.push_back(one.name);
    faults_.add(kind.place, fmt::format("there is no kind '{}'; there are: {}", kind.text,
                                        fmt::join(names, ", ")));
  }

  Step function(const char* field, bool must) {
    const Item* item = must ? fields_.need(field) : fields_.find(field);
    return step_of(item, fmt::format("'{}' of {}", field, what_), faults_);
  }

  /// One whose arguments follow from its place.
  Step plain_function(const char* field) { return without_takes(function(field, true), field); }

  Step without_takes(Step step, const char* field) {
    if (step.says_takes)
      faults_.add(step.function.place,
                  fmt::format("'{}' of {} has no 'takes': what it takes goes without saying", field,
                              what_));
    return step;
  }

  /// Of the function that does the node's work.
  void read_variants(const Step& own) {
    const Item* item = fields_.find("variants");
    if (item == nullptr) return;
    node_.variants = fields_.words("variants");
    if (item->kind == ItemKind::list && item->elements.empty())
      faults_.add(item->place,
                  fmt::format("'variants' of {} is empty; name functions with the signature of "
                              "'{}', or take it away",
                              what_, own.function.text));
    if (node_.variants.size() > most_variants)
      faults_.add(item->place, fmt::format("{} has {} variants; it may have {} at most", what_,
                                           node_.variants.size(), most_variants));
    std::set<std::string_view> names{own.function.text};
    for (const Word& variant : node_.variants)
      if (!names.insert(variant.text).second)
        faults_.add(variant.place,
                    fmt::format("'{}' is there twice: {} tries its own function and each of its "
                                "'variants'; take one away",
                                variant.text, what_));
  }

  void read_until() {
    const Item* until = fields_.find("until");
    if (until == nullptr) return;
    if (until->kind == ItemKind::scalar && until->text == "found") {
      node_.ends = Until::found;
      return;
    }
    if (until->kind == ItemKind::scalar) {
      faults_.add(until->place,
                  fmt::format("'until' of {} is 'found' or {{function: NAME}}", what_));
      return;
    }
    node_.until =
        without_takes(step_of(until, fmt::format("'until' of {}", what_), faults_), "until");
    node_.ends = Until::function;
  }

  void read_of_kind() {
    switch (node_.kind) {
      case NodeKind::call:
        node_.function = plain_function("function");
        read_variants(node_.function);
        break;
      case NodeKind::map:
        node_.partition = function("partition", false);
        node_.each = function("each", true);
        node_.merge = without_takes(function("merge", false), "merge");
        read_variants(node_.each);
        read_until();
        break;
      case NodeKind::reduce:
        node_.function = plain_function("function");
        node_.fan = fields_.number("fan", 2, largest_fan, node_.fan);
        read_variants(node_.function);
        break;
      case NodeKind::iterate:
        node_.function = plain_function("function");
        read_variants(node_.function);
        read_steps();
        read_until();
        break;
      case NodeKind::condition:
        node_.if_true = plain_function("then");
        node_.if_false = plain_function("else");
        break;
      case NodeKind::master:
        node_.partition = function("hand_out", true);
        node_.each = function("each", true);
        node_.merge = plain_function("gather");
        break;
      case NodeKind::divide:
        node_.partition = plain_function("divide");
        node_.each = function("solve", true);
        node_.merge = plain_function("combine");
        break;
      case NodeKind::flow:
        node_.file = fields_.needed_word("file");
        break;
    }
  }

  /// A step function says by itself when it is done.
  void read_steps() {
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    node_.budget = fields_.duration("budget", std::chrono::nanoseconds(0));
    node_.steps = fields_.number("steps", 1, most, 0);
    const bool has_budget = node_.budget.count() != 0 || node_.steps != 0;
    if (!has_budget) (void)fields_.need("times");
    node_.times = fields_.number("times", 1, most, has_budget ? 0 : 1);
    node_.durable = fields_.number("durable", 1, most, 0);
    if (node_.budget > longest_deadline)
      faults_.add(fields_.find("budget")->place, "a budget is 24 h at most");
  }

  void read_of_calls() {
    node_.takes = fields_.words("takes");
    node_.window = fields_.number("window", 1, largest_window, 0);
    node_.deadline = fields_.duration("deadline", std::chrono::nanoseconds(0));
    if (node_.deadline > longest_deadline)
      faults_.add(fields_.find("deadline")->place, "a deadline is 24 h at most");
    read_constraints();
    const Item* retry = fields_.find("retry");
    if (retry == nullptr) return;
    Fields policy(*retry, "'retry' of " + what_, faults_);
    node_.retry.attempts = policy.number("attempts", 1, most_attempts, node_.retry.attempts);
    node_.retry.back_off = std::chrono::ceil<std::chrono::milliseconds>(
        policy.duration("back_off", node_.retry.back_off));
    if (policy.find("outcomes") != nullptr) node_.retry.outcomes = outcomes_of(policy);
    policy.refuse_others();
  }

  void read_constraints() {
    const Item* constraints = fields_.find("constraints");
    if (constraints == nullptr) return;
    Fields fields(*constraints, "'constraints' of " + what_, faults_);
    const auto one_of = [&](const char* field, const std::vector<std::string>& known) {
      const Word word = fields.word(field);
      if (!word.text.empty() && std::ranges::find(known, word.text) == known.end())
        faults_.add(word.place, fmt::format("'{}' of {} must be one of: {}", field, what_,
                                            fmt::join(known, ", ")));
      return word.text;
    };
    node_.constraints.kind = one_of("kind", {"cpu", "gpu", "dpu"});
    node_.constraints.device = one_of("device", {"cores", "gpu"});
    node_.constraints.cluster = cluster_in(fields);
    fields.refuse_others();
  }

  /// Which ones there are, the gateway knows. The name becomes a header field.
  std::string cluster_in(Fields& fields) {
    constexpr std::size_t longest = 256;
    const Word word = fields.word("cluster");
    const bool is_name = word.text.size() <= longest &&
                         std::ranges::all_of(word.text, [](char c) { return c > ' ' && c <= '~'; });
    if (!is_name)
      faults_.add(
          word.place,
          fmt::format("'cluster' of {} must be the name of a cluster: at most {} characters, "
                      "and no blank among them",
                      what_, longest));
    return word.text;
  }

  std::vector<std::string> outcomes_of(Fields& policy) {
    static constexpr std::array<std::string_view, 15> known{
        "function_error",    "function_crashed", "function_exited", "limit_exceeded",
        "deadline_exceeded", "evicted",          "worker_lost",     "no_capacity",
        "lease_ended",       "unreachable",      "timed_out",       "quota",
        "disk_full",         "system",           "internal"};
    std::vector<std::string> outcomes;
    for (const Word& word : policy.words("outcomes")) {
      if (std::ranges::find(known, word.text) == known.end())
        faults_.add(word.place, fmt::format("there is no outcome '{}' that could be tried again; "
                                            "there are: {}",
                                            word.text, fmt::join(known, ", ")));
      outcomes.push_back(word.text);
    }
    return outcomes;
  }

  Node node_;
  std::string what_;
  Fields fields_;
  FaultList& faults_;
};

Edge edge_of(const Item& item, FaultList& faults) {
  Fields fields(item, "an edge", faults);
  Edge edge{.place = item.place,
            .from = fields.word("from"),
            .json = std::nullopt,
            .to = {},
            .durable = false};
  const Item* value = fields.find("value");
  if (value != nullptr) edge.json = json_of(*value);
  if (item.kind == ItemKind::map && edge.from.text.empty() == (value == nullptr))
    faults.add(item.place, "an edge has either 'from', a node or an input, or a 'value'");
  edge.to = fields.needed_word("to");
  edge.durable = fields.flag("durable");
  fields.refuse_others();
  return edge;
}

void read_nodes(Fields& root, Document& document, FaultList& faults) {
  const Item* nodes = root.need("nodes");
  if (nodes == nullptr) return;
  const Fields names(*nodes, "'nodes'", faults);
  document.nodes.reserve(nodes->fields.size());
  for (const auto& [name, item] : nodes->fields)
    document.nodes.push_back(NodeReader(name, item, faults).read());
  if (nodes->kind == ItemKind::map && nodes->fields.empty())
    faults.add(nodes->place, "a flow has at least one node");
}

void read_edges(Fields& root, Document& document, FaultList& faults) {
  const Item* edges = root.find("edges");
  if (edges == nullptr) return;
  if (edges->kind != ItemKind::list) {
    faults.add(edges->place, "'edges' must be a list, such as [{from: a, to: b.x}]");
    return;
  }
  document.edges.reserve(edges->elements.size());
  for (const Item& item : edges->elements) document.edges.push_back(edge_of(item, faults));
}

}  // namespace

std::string_view to_string(NodeKind kind) {
  return std::ranges::find(kinds, kind, &KindName::kind)->name;
}

const std::vector<std::string>& outcomes_of_the_platform() {
  static const std::vector<std::string> outcomes{"evicted",     "worker_lost", "no_capacity",
                                                 "lease_ended", "unreachable", "timed_out"};
  return outcomes;
}

Parsed parse_document(const std::string& text, const std::string& file) {
  Parsed parsed;
  parsed.document.file = file;
  auto item = read_yaml(text);
  if (!item) {
    item.error().file = file;
    parsed.faults.push_back(std::move(item.error()));
    return parsed;
  }
  FaultList faults(file);
  Fields root(*item, "the flow", faults);
  Document& document = parsed.document;
  document.name = root.needed_word("flow");
  document.functions = root.pairs("functions");
  document.inputs = root.pairs("inputs");
  if (const Item* chosen = root.find("optimise"); chosen != nullptr)
    document.optimisers = read_optimisers(*chosen, faults);
  read_nodes(root, document, faults);
  read_edges(root, document, faults);
  document.outputs = root.pairs("outputs");
  root.refuse_others();
  parsed.faults = faults.take();
  sort(parsed.faults);
  return parsed;
}

}  // namespace orchid::flow
