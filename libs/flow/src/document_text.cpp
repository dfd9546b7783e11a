// The one form of a document: the same for all ways to write it.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "flow/document.h"
#include "foundation/amounts.h"
#include "foundation/numbers.h"

namespace orchid::flow {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson texts(const std::vector<Word>& words) {
  OrderedJson list = OrderedJson::array();
  for (const Word& word : words) list.push_back(word.text);
  return list;
}

OrderedJson json_of(const Step& step) {
  if (!step.says_takes) return step.function.text;
  return {{"function", step.function.text}, {"takes", texts(step.takes)}};
}

void add(OrderedJson& node, const char* field, const Step& step) {
  if (step.exists()) node[field] = json_of(step);
}

void add_calls(OrderedJson& json, const Node& node) {
  if (!node.takes.empty()) json["takes"] = texts(node.takes);
  if (node.window != 0) json["window"] = node.window;
  if (node.deadline.count() != 0) json["deadline"] = to_duration_text(node.deadline);
  if (!node.constraints.kind.empty()) json["constraints"]["kind"] = node.constraints.kind;
  if (!node.constraints.device.empty()) json["constraints"]["device"] = node.constraints.device;
  if (!node.constraints.cluster.empty()) json["constraints"]["cluster"] = node.constraints.cluster;
  const RetryPolicy usual;
  if (node.retry == usual) return;
  OrderedJson retry = OrderedJson::object();
  if (node.retry.attempts != usual.attempts) retry["attempts"] = node.retry.attempts;
  if (node.retry.back_off != usual.back_off)
    retry["back_off"] = to_duration_text(node.retry.back_off);
  if (node.retry.outcomes != usual.outcomes) retry["outcomes"] = node.retry.outcomes;
  json["retry"] = retry;
}

OrderedJson json_of(const Node& node) {
  OrderedJson json{{"kind", to_string(node.kind)}};
  add(json, "function", node.function);
  const bool hands_out = node.kind == NodeKind::master;
  const bool divides = node.kind == NodeKind::divide;
  add(json, hands_out ? "hand_out" : divides ? "divide" : "partition", node.partition);
  add(json, divides ? "solve" : "each", node.each);
  add(json, hands_out ? "gather" : divides ? "combine" : "merge", node.merge);
  add(json, "then", node.if_true);
  add(json, "else", node.if_false);
  if (!node.variants.empty()) json["variants"] = texts(node.variants);
  if (!node.file.text.empty()) json["file"] = node.file.text;
  if (node.times != 0) json["times"] = node.times;
  if (node.budget.count() != 0) json["budget"] = to_duration_text(node.budget);
  if (node.steps != 0) json["steps"] = node.steps;
  if (node.durable != 0) json["durable"] = node.durable;
  if (node.ends == Until::found) json["until"] = "found";
  if (node.ends == Until::function) json["until"] = {{"function", node.until.function.text}};
  if (node.kind == NodeKind::reduce && node.fan != Node{}.fan) json["fan"] = node.fan;
  add_calls(json, node);
  return json;
}

OrderedJson json_of(const Edge& edge) {
  OrderedJson json = OrderedJson::object();
  if (edge.json)
    json["value"] = OrderedJson::parse(*edge.json);
  else
    json["from"] = edge.from.text;
  json["to"] = edge.to.text;
  if (edge.durable) json["durable"] = true;
  return json;
}

/// Names are there once; looking for each costs the square of their number.
void append(OrderedJson& map, const std::string& name, OrderedJson value) {
  map.get_ref<OrderedJson::object_t&>().emplace_back(name, std::move(value));
}

OrderedJson json_of(const std::vector<std::pair<Word, Word>>& pairs) {
  OrderedJson map = OrderedJson::object();
  for (const auto& [name, value] : pairs) append(map, name.text, value.text);
  return map;
}

OrderedJson json_of(const OptimiserChoice& choice) {
  if (choice.options.empty()) return choice.name.text;
  OrderedJson options = OrderedJson::object();
  for (const auto& [name, value] : choice.options) {
    if (const auto number = parse_number<std::uint32_t>(value.text))
      append(options, name.text, *number);
    else
      append(options, name.text, value.text);
  }
  return {{choice.name.text, std::move(options)}};
}

OrderedJson json_of(const Document& document) {
  OrderedJson json{{"flow", document.name.text}};
  if (!document.functions.empty()) json["functions"] = json_of(document.functions);
  if (!document.inputs.empty()) json["inputs"] = json_of(document.inputs);
  for (const OptimiserChoice& choice : document.optimisers)
    json["optimise"].push_back(json_of(choice));
  OrderedJson nodes = OrderedJson::object();
  for (const Node& node : document.nodes) append(nodes, node.name.text, json_of(node));
  json["nodes"] = nodes;
  if (!document.edges.empty()) {
    OrderedJson edges = OrderedJson::array();
    for (const Edge& edge : document.edges) edges.push_back(json_of(edge));
    json["edges"] = edges;
  }
  if (!document.outputs.empty()) json["outputs"] = json_of(document.outputs);
  return json;
}

std::string dump(const OrderedJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

/// A text that YAML reads as the same text without quotes: a letter, then what has no meaning.
bool is_plain(std::string_view text) {
  // Words that some reader of YAML takes for a truth, or for nothing, in any case of letters.
  static constexpr std::array<std::string_view, 9> words{"true", "false", "null", "yes", "no",
                                                         "on",   "off",   "y",    "n"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.empty() || std::ranges::find(words, lower) != words.end()) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(text.front())) return false;
  return std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_-./<>()@").find(c) != std::string_view::npos;
  });
}

/// Within a line. Such a form of YAML is JSON, with fewer quotes.
std::string in_line(const OrderedJson& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    return is_plain(text) ? text : dump(json);
  }
  if (!json.is_structured()) return dump(json);
  std::string text;
  for (const auto& [name, value] : json.items())
    text += (text.empty() ? "" : ", ") +
            (json.is_object() ? in_line(OrderedJson(name)) + ": " : "") + in_line(value);
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

std::string to_json(const Document& document) { return dump(json_of(document), 2) + "\n"; }

std::string to_yaml(const Document& document) {
  std::string text;
  const OrderedJson json = json_of(document);
  for (const auto& [name, value] : json.items()) {
    if (!value.is_structured()) {
      text += name + ": " + in_line(value) + "\n";
      continue;
    }
    text += name + ":" + (value.empty() ? value.is_object() ? " {}" : " []" : "") + "\n";
    for (const auto& [inner, part] : value.items())
      text += "  " + (value.is_object() ? in_line(OrderedJson(inner)) + ": " : std::string("- ")) +
              in_line(part) + "\n";
  }
  return text;
}

}  // namespace orchid::flow
