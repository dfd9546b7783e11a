#include "flow_submission.h"

#include <doctest/doctest.h>

#include "foundation/base64.h"
#include "submitted_flows.h"

namespace orchid::flows {
namespace {

const std::string one_call = "flow: f\n" + flow::functions_section() +
                             "inputs: {n: u64}\nnodes:\n  t: {kind: call, function: twice}\n"
                             "edges: [{from: n, to: t}]\noutputs: {r: t}\n";

std::string why_not(const nlohmann::json& json) {
  const std::string text = json.dump();
  const auto submission = parse_submission(as_bytes(text));
  if (!submission) return submission.error().message;
  const auto ready = make_ready(*submission, not_asked);
  return ready ? "" : ready.error().message;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a submission has a document and values of its inputs") {
  CHECK(why_not({{"document", one_call}, {"inputs", {{"n", 5}}}}) == "");
  CHECK(ready_flow(body_of(one_call, {{"n", 5}})).inputs.size() == 1);
}

TEST_CASE("an input may come in the bytes in which functions take it") {
  const flow::Value five = flow::value("u64", "5");
  const nlohmann::json json{{"document", one_call}, {"encoded_inputs", {{"n", to_base64(*five)}}}};
  const std::string text = json.dump();
  const auto ready = make_ready(parse_submission(as_bytes(text)).value(), not_asked);
  REQUIRE(ready.has_value());
  CHECK(*ready->inputs[0] == *five);
}

TEST_CASE("what is no submission is refused with what to do") {
  CHECK(has(why_not(nlohmann::json::array()), "a JSON object"));
  CHECK(has(why_not({{"inputs", {{"n", 5}}}}), "'document' is missing"));
  CHECK(has(why_not({{"document", 5}}), "'document' must be a text"));
  CHECK(has(why_not({{"document", one_call}, {"input", {{"n", 5}}}}), "no field 'input'"));
  CHECK(has(why_not({{"document", one_call}, {"inputs", 5}}), "'inputs' must be an object"));
  CHECK(has(why_not({{"document", one_call}}), "needs values of all its inputs; add n (u64)"));
  CHECK(has(why_not({{"document", one_call}, {"inputs", {{"n", 5}, {"m", 5}}}}), "no input 'm'"));
  CHECK(has(why_not({{"document", one_call}, {"inputs", {{"n", "five"}}}}), "input 'n' (u64)"));
  CHECK(has(why_not({{"document", one_call}, {"encoded_inputs", {{"n", "%"}}}}), "input 'n'"));
  CHECK(has(
      why_not({{"document", one_call}, {"inputs", {{"n", 5}}}, {"encoded_inputs", {{"n", ""}}}}),
      "given twice"));
}

TEST_CASE("all faults of a document are told, with line and column") {
  const std::string faults =
      why_not({{"document",
                "flow: f\ninputs: {n: u64}\nnodes:\n  t: {kind: call, function: twyce}\n"
                "edges: [{from: m, to: t}]\noutputs: {r: t}\n"},
               {"file", "f.yaml"},
               {"inputs", {{"n", 5}}}});
  CHECK(has(faults, "f.yaml:5:"));
  CHECK(has(faults, "no node or input 'm'"));
}

TEST_CASE("a flow that is a node is found among the files that were sent along") {
  const std::string outer =
      "flow: outer\ninputs: {n: u64}\nnodes: {i: {kind: flow, file: inner.yaml}}\n"
      "edges: [{from: n, to: i.n}]\noutputs: {r: i.r}\n";
  nlohmann::json json{{"document", outer}, {"file", "dir/outer.yaml"}, {"inputs", {{"n", 5}}}};
  CHECK(has(why_not(json), "file 'dir/inner.yaml' was not sent along"));
  json["files"] = {{"dir/inner.yaml", one_call}};
  CHECK(why_not(json) == "");
}

TEST_CASE("functions are kept as they were when the flow was submitted") {
  const KnownVersions known{{"twice", {.signature = "u64(u64)", .exact = "twice@0123456789"}}};
  const auto read = parse_known_versions(to_json(known));
  REQUIRE(read.has_value());
  const auto find = finder_of(*read);
  CHECK(find("twice").signature == "u64(u64)");
  CHECK(find("twice").exact == "twice@0123456789");
  CHECK(find("sum").state == flow::KnownFunction::State::missing);
  CHECK_FALSE(parse_known_versions("[]").has_value());
  const std::string half = nlohmann::json{{"twice", {"u64(u64)"}}}.dump();
  CHECK_FALSE(parse_known_versions(half).has_value());
}

}  // namespace orchid::flows
