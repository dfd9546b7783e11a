// flow.schema.json says the same as the parser: for editors, and for programs that write flows.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "flow/document.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;
using nlohmann::json;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file);
  REQUIRE_MESSAGE(stream.good(), file.string());
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// As much of JSON Schema (draft 7) as the schema uses; a word that it does not know fails.
class Schema {
 public:
  explicit Schema(json root) : root_(std::move(root)) {}
  [[nodiscard]] bool accepts(const json& value) const { return accepts(root_, value); }

 private:
  [[nodiscard]] bool accepts(const json& schema, const json& value) const {
    return std::ranges::all_of(schema.items(), [&](const auto& rule) {
      return keeps(rule.key(), rule.value(), schema, value);
    });
  }

  [[nodiscard]] static bool is_type(const std::string& type, const json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    FAIL("the schema has the type " << type);
    return false;
  }

  [[nodiscard]] bool keeps(const std::string& word, const json& rule, const json& schema,
                           const json& value) const {
    if (word == "type")
      return rule.is_array()
                 ? std::ranges::any_of(rule, [&](const json& type) { return is_type(type, value); })
                 : is_type(rule, value);
    if (word == "required")
      return !value.is_object() || std::ranges::all_of(rule, [&](const json& name) {
        return value.contains(name.get<std::string>());
      });
    if (word == "properties" || word == "additionalProperties" || word == "propertyNames")
      return !value.is_object() || keeps_fields(word, rule, schema, value);
    if (word == "items")
      return !value.is_array() ||
             std::ranges::all_of(value, [&](const json& one) { return accepts(rule, one); });
    if (word == "$ref")
      return accepts(root_.at(json::json_pointer(rule.get<std::string>().substr(1))), value);
    if (word == "oneOf")
      return std::ranges::count_if(rule, [&](const json& one) { return accepts(one, value); }) == 1;
    if (word == "anyOf")
      return std::ranges::any_of(rule, [&](const json& one) { return accepts(one, value); });
    if (word == "not") return !accepts(rule, value);
    return keeps_bound(word, rule, value);
  }

  [[nodiscard]] static bool keeps_bound(const std::string& word, const json& rule,
                                        const json& value) {
    if (word == "enum") return std::ranges::find(rule, value) != rule.end();
    if (word == "const") return value == rule;
    if (word == "minimum") return !value.is_number() || value >= rule;
    if (word == "maximum") return !value.is_number() || value <= rule;
    if (word == "minLength") return !value.is_string() || value.get<std::string>().size() >= rule;
    if (word == "minItems") return !value.is_array() || value.size() >= rule;
    if (word == "maxItems") return !value.is_array() || value.size() <= rule;
    if (word == "maxProperties") return !value.is_object() || value.size() <= rule;
    if (word == "minProperties") return !value.is_object() || value.size() >= rule;
    if (word == "pattern")
      return !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    const bool is_text =
        word == "title" || word == "description" || word.starts_with("$") || word == "definitions";
    CHECK_MESSAGE(is_text, word);
    return is_text;
  }

  [[nodiscard]] bool keeps_fields(const std::string& word, const json& rule, const json& schema,
                                  const json& value) const {
    return std::ranges::all_of(value.items(), [&](const auto& field) {
      const bool is_named =
          schema.contains("properties") && schema.at("properties").contains(field.key());
      if (word == "properties") return !is_named || accepts(rule.at(field.key()), field.value());
      if (word == "propertyNames") return accepts(rule, json(field.key()));
      if (is_named) return true;
      return rule.is_boolean() ? rule.get<bool>() : accepts(rule, field.value());
    });
  }

  json root_;
};

const Schema& schema() {
  static const Schema one(json::parse(content(SOURCES "/libs/flow/flow.schema.json")));
  return one;
}

/// One node of a flow that is good but for it.
std::string with_node(const std::string& node) {
  return R"({"flow": "f", "inputs": {"n": "u64"}, "nodes": {"a": )" + node +
         R"(}, "edges": [{"from": "n", "to": "a.x"}], "outputs": {"r": "a"}})";
}

std::string with_optimisers(const std::string& list) {
  return R"({"flow": "f", "optimise": )" + list +
         R"(, "nodes": {"a": {"kind": "call", "function": "f"}}})";
}

bool parses(const std::string& text) { return parse_document(text, "").faults.empty(); }

}  // namespace

TEST_CASE("the schema takes what the parser takes") {
  const std::vector<std::string> good{
      with_node(R"({"kind": "call", "function": "f"})"),
      with_node(R"({"kind": "call", "function": "f.e@abcdef", "takes": ["x", "1"], "window": 3})"),
      with_node(R"({"kind": "call", "function": "f", "deadline": "30s"})"),
      with_node(R"({"kind": "call", "function": "f", "deadline": 30})"),
      with_node(R"({"kind": "call", "function": "f", "retry": {"attempts": 2, "back_off": "1s",
                    "outcomes": ["function_error"]}})"),
      with_node(R"({"kind": "map", "each": "f"})"),
      with_node(R"({"kind": "map", "each": {"function": "f", "takes": []}, "variants": ["g"]})"),
      with_node(R"({"kind": "call", "function": "f", "variants": ["g", "h.e@abcdef"]})"),
      with_node(R"({"kind": "reduce", "function": "f", "variants": ["g"]})"),
      with_node(R"({"kind": "iterate", "function": "f", "times": 3, "variants": ["g"]})"),
      with_optimisers(R"(["speed", "grid"])"),
      with_node(R"({"kind": "map", "each": {"function": "f", "takes": []}, "partition": "p",
                    "merge": "m"})"),
      with_node(R"({"kind": "map", "each": "f", "merge": {"function": "m"}})"),
      with_node(R"({"kind": "map", "each": "f", "until": "found"})"),
      with_node(R"({"kind": "map", "each": "f", "until": {"function": "u"}})"),
      with_node(R"({"kind": "reduce", "function": "f", "fan": 2})"),
      with_node(R"({"kind": "iterate", "function": "f", "times": 3})"),
      with_node(R"({"kind": "iterate", "function": "f", "budget": "1s", "durable": 10})"),
      with_node(R"({"kind": "iterate", "function": "f", "steps": 100, "times": 5})"),
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}},
          "edges": [{"from": "b", "to": "a", "durable": true}]})",
      with_node(R"({"kind": "if", "then": "f", "else": "g"})"),
      with_node(R"({"kind": "master", "hand_out": "h", "each": "f", "gather": "g"})"),
      with_node(R"({"kind": "master", "hand_out": {"function": "h", "takes": ["y"]},
                    "each": {"function": "f", "takes": []}, "gather": "g", "takes": ["x", "y"],
                    "window": 4, "deadline": "30s", "retry": {"attempts": 1}})"),
      with_node(R"({"kind": "divide", "divide": "d", "solve": "f", "combine": "c"})"),
      with_node(R"({"kind": "divide", "divide": "d", "solve": {"function": "f", "takes": ["y"]},
                    "combine": "c", "takes": ["x", "y"], "window": 4, "deadline": 30})"),
      with_node(R"({"kind": "flow", "file": "x.yaml"})"),
      with_node(R"({"kind": "call", "function": "f", "retry": {"outcomes": ["quota", "system"]}})"),
      with_node(
          R"({"kind": "call", "function": "f", "constraints": {"kind": "cpu", "device": "gpu"}})"),
      with_node(R"({"kind": "call", "function": "f", "constraints": {"cluster": "moss"}})"),
      R"({"flow": "f", "inputs": null, "outputs": null, "functions": null, "edges": null,
          "nodes": {"a": {"kind": "call", "function": "f"}}})",
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}},
          "edges": [{"value": [1, "a", true], "to": "a"}]})",
      with_optimisers(R"(["speed", "granularity"])"),
      with_optimisers(R"([{"power": {"watts": 120}}])"),
      with_optimisers(R"([{"power": {"watts": 120, "watts_per_core": 9}}])"),
      with_optimisers(R"(["./mine.so", {"/opt/other.so": {"colour": "red", "depth": 3}}])"),
      with_optimisers("[]")};
  for (const std::string& text : good) {
    CHECK_MESSAGE(parses(text), text);
    CHECK_MESSAGE(schema().accepts(json::parse(text)), text);
  }
}

TEST_CASE("the schema refuses what the parser refuses") {
  const std::vector<std::string> bad{
      "[]",
      "{}",
      R"({"flow": "f"})",
      R"({"flow": "f", "nodes": {}})",
      R"({"flow": "f", "nodes": [], "colour": "red"})",
      with_node(R"({"kind": "master", "function": "f"})"),
      with_node(R"({"kind": "master", "hand_out": "h", "each": "f"})"),
      with_node(R"({"kind": "master", "hand_out": "h", "each": "f", "merge": "g"})"),
      with_node(R"({"kind": "divide", "divide": "d", "solve": "f"})"),
      with_node(R"({"kind": "divide", "divide": {"function": "d", "takes": ["x"]}, "solve": "f",
                    "combine": "c"})"),
      with_node(R"({"kind": "gang"})"),
      with_node(R"({"kind": "gang", "function": "f"})"),
      with_node(R"({"kind": "call"})"),
      with_node(R"({"kind": "call", "function": "f", "merge": "m"})"),
      with_node(R"({"kind": "call", "function": {"function": "f", "takes": ["x"]}})"),
      with_node(R"({"kind": "call", "function": "f", "window": 0})"),
      with_node(R"({"kind": "call", "function": "f", "window": "3"})"),
      with_node(R"({"kind": "call", "function": "f", "deadline": -1})"),
      with_node(R"({"kind": "call", "function": "f", "deadline": "soon"})"),
      with_node(R"({"kind": "call", "function": "f", "retry": {"attempts": 101}})"),
      with_node(R"({"kind": "call", "function": "f", "retry": {"outcomes": ["bad_luck"]}})"),
      with_node(R"({"kind": "call", "function": "f", "retry": {"tries": 3}})"),
      with_node(R"({"kind": "call", "function": "f", "constraints": {"kind": "moon"}})"),
      with_node(R"({"kind": "call", "function": "f", "constraints": {"cluster": ""}})"),
      with_node(R"({"kind": "call", "function": "f", "constraints": {"cluster": "a b"}})"),
      with_node(R"({"kind": "call", "function": "f", "constraints": {"cluster": ["a"]}})"),
      with_node(R"({"kind": "map"})"),
      with_node(R"({"kind": "call", "function": "f", "variants": []})"),
      with_node(R"({"kind": "call", "function": "f", "variants": "g"})"),
      with_node(R"({"kind": "call", "function": "f", "variants": [["g"]]})"),
      with_node(R"({"kind": "if", "then": "f", "else": "g", "variants": ["h"]})"),
      with_node(R"({"kind": "map", "each": "f", "merge": {"function": "m", "takes": ["x"]}})"),
      with_node(R"({"kind": "map", "each": "f", "until": {"function": "u", "takes": ["x"]}})"),
      with_node(R"({"kind": "map", "each": "f", "until": "never"})"),
      with_node(R"({"kind": "map", "each": {"takes": ["x"]}})"),
      with_node(R"({"kind": "reduce", "function": "f", "fan": 1})"),
      with_node(R"({"kind": "iterate", "function": "f"})"),
      with_node(R"({"kind": "iterate", "function": "f", "times": 0})"),
      with_node(R"({"kind": "iterate", "function": "f", "durable": 3})"),
      with_node(R"({"kind": "iterate", "function": "f", "steps": 0})"),
      with_node(R"({"kind": "call", "function": "f", "budget": "1s"})"),
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}},
          "edges": [{"from": "b", "to": "a", "durable": "yes"}]})",
      with_node(R"({"kind": "if", "then": "f"})"),
      with_node(R"({"kind": "flow"})"),
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}}, "edges": {}})",
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}}, "edges": [{"to": "a"}]})",
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}},
          "edges": [{"from": "b", "value": 1, "to": "a"}]})",
      R"({"flow": "f", "nodes": {"a": {"kind": "call", "function": "f"}},
          "edges": [{"value": null, "to": "a"}]})",
      with_optimisers(R"("speed")"),
      with_optimisers(R"(["haste"])"),
      with_optimisers(R"(["power"])"),
      with_optimisers(R"([{"power": {}}])"),
      with_optimisers(R"([{"power": {"watts": 0}}])"),
      with_optimisers(R"([{"power": {"watts": 120, "volts": 230}}])"),
      with_optimisers(R"([{"power": {"watts": 120}, "./mine.so": {}}])"),
      with_optimisers(R"([{"./mine.so": []}])")};
  for (const std::string& text : bad) {
    CHECK_FALSE_MESSAGE(parses(text), text);
    CHECK_FALSE_MESSAGE(schema().accepts(json::parse(text)), text);
  }
}

TEST_CASE("the schema keeps the same words for kinds to come as the parser") {
  const json root = json::parse(content(SOURCES "/libs/flow/flow.schema.json"));
  const json& words = root.at("definitions").at("reserved").at("properties").at("kind").at("enum");
  CHECK(words.size() == 1);
  for (const json& word : words) {
    const Parsed parsed = parse_document(with_node(R"({"kind": )" + word.dump() + "}"), "");
    REQUIRE(parsed.faults.size() == 1);
    CHECK(parsed.faults[0].message.find("the word is kept for them") != std::string::npos);
  }
}

TEST_CASE("templates and examples are what the schema says") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SOURCES "/functions"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  CHECK(files.size() >= 7);
  for (const auto& file : files) {
    const Parsed parsed = parse_document(content(file), file.string());
    for (const Fault& fault : parsed.faults) FAIL_CHECK(to_string(fault));
    CHECK_MESSAGE(schema().accepts(json::parse(to_json(parsed.document))), file.string());
  }
}
