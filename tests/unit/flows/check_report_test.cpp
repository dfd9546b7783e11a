#include "check_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "submitted_flows.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::json;

Json report_of(const std::string& document, const Json& files = Json::object()) {
  const std::string body = Json{{"document", document}, {"files", files}}.dump();
  const auto submission = parse_submission(as_bytes(body));
  REQUIRE(submission.has_value());
  return Json::parse(check_report(*submission, not_asked));
}

}  // namespace

TEST_CASE("a good document has no faults, and its nodes have ports and outputs with types") {
  const Json report = report_of(flow::four_kinds());
  CHECK(report["faults"].empty());
  CHECK(report["faults_total"] == 0);
  REQUIRE(report["nodes"].size() == 4);
  CHECK(report["nodes"][1] == Json{{"node", "total"},
                                   {"known", true},
                                   {"ports", {{{"name", "1"}, {"type", "span<u64>"}}}},
                                   {"outputs", {{{"name", ""}, {"type", "u64"}}}}});
}

TEST_CASE("ports of nodes are known beside others whose functions are left open") {
  const Json report = report_of("flow: f\n" + flow::functions_section() +
                                "inputs: {n: u64}\nnodes:\n  a: {kind: call, function: twice}\n"
                                "  b: {kind: call, function: '?'}\n"
                                "edges: [{from: n, to: a}, {from: a, to: b}]\noutputs: {r: b}\n");
  REQUIRE(report["faults_total"] == 1);
  const std::string message = report["faults"][0]["message"];
  CHECK(message.find("left open") != std::string::npos);
  CHECK(report["faults"][0]["column"] == 29);
  CHECK(report["nodes"][0]["known"] == true);
  CHECK(report["nodes"][1]["known"] == false);
  CHECK(report["nodes"][1]["ports"].empty());
}

TEST_CASE("a document that cannot be read has a fault with its place, and no nodes") {
  const Json report = report_of("flow: f\nnodes: [\n");
  REQUIRE(report["faults"].size() == 1);
  CHECK(report["faults"][0]["line"] != 0);
  CHECK(report["nodes"].empty());
}

TEST_CASE("a fault in a flow that is a node names its file, and its outputs have names") {
  const std::string outer =
      "flow: outer\ninputs: {n: u64}\nnodes: {i: {kind: flow, file: inner.yaml}}\n"
      "edges: [{from: n, to: i.n}]\noutputs: {r: i.r}\n";
  const std::string inner = "flow: inner\n" + flow::functions_section() +
                            "inputs: {n: u64}\nnodes: {t: {kind: call, function: twice}}\n"
                            "edges: [{from: n, to: t}]\noutputs: {r: t}\n";
  const Json good = report_of(outer, {{"inner.yaml", inner}});
  CHECK(good["faults"].empty());
  CHECK(good["nodes"][0]["outputs"] == Json{{{"name", "r"}, {"type", "u64"}}});
  const Json wrong = report_of(outer, {{"inner.yaml", "flow: ["}});
  REQUIRE_FALSE(wrong["faults"].empty());
  CHECK(wrong["faults"][0]["file"] == "inner.yaml");
}

TEST_CASE("of very many faults the first are told, and how many there are") {
  std::string document = "flow: f\nnodes:\n";
  for (int i = 0; i < 1'500; ++i)
    document += "  n" + std::to_string(i) + ": {kind: call, function: '?'}\n";
  const Json report = report_of(document);
  CHECK(report["faults"].size() == 1'000);
  CHECK(report["faults_total"] > 1'000);
}

}  // namespace orchid::flows
