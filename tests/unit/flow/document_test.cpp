#include "flow/document.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

constexpr auto everything =
    "# a comment\n"
    "flow: all-kinds\n"
    "functions:\n"
    "  f: u64(u64)\n"
    "inputs:\n"
    "  n: u64\n"
    "nodes:\n"
    "  a:\n"
    "    kind: call\n"
    "    function: f\n"
    "    takes: [x]\n"
    "    deadline: 30s\n"
    "    window: 4\n"
    "    retry: {attempts: 5, back_off: 2s, outcomes: [function_error, worker_lost]}\n"
    "  b: {kind: map, takes: [n, k], partition: {function: p, takes: [n]}, each: {function: e, "
    "takes: [k]}, merge: m}\n"
    "  c: {kind: reduce, function: r, fan: 4}\n"
    "  d: {kind: iterate, function: f, times: 10, budget: 2s, steps: 7, durable: 5, "
    "until: {function: u}}\n"
    "  e: {kind: if, then: f, else: f}\n"
    "  g: {kind: flow, file: other.yaml}\n"
    "  h: {kind: map, each: e, until: found}\n"
    "edges:\n"
    "  - {from: n, to: a.x, durable: true}\n"
    "  - {value: [1, 2.5, \"3\", true], to: c}\n"
    "outputs:\n"
    "  r: a\n";

std::vector<std::string> parse_faults(const std::string& text) {
  std::vector<std::string> lines;
  for (const Fault& fault : parse_document(text, "f.yaml").faults)
    lines.push_back(to_string(fault));
  return lines;
}

bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const auto& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a document is read, and written in one form as YAML and as JSON") {
  const Parsed parsed = parse_document(everything, "f.yaml");
  for (const Fault& fault : parsed.faults) FAIL_CHECK(to_string(fault));
  const Document& document = parsed.document;
  REQUIRE(document.nodes.size() == 7);
  CHECK(document.nodes[0].retry.attempts == 5);
  CHECK(document.nodes[0].retry.back_off == std::chrono::seconds(2));
  CHECK(document.nodes[0].deadline == std::chrono::seconds(30));
  CHECK(document.nodes[1].partition.takes.size() == 1);
  CHECK(document.nodes[3].ends == Until::function);
  CHECK(document.nodes[6].ends == Until::found);
  CHECK(document.edges[1].json == "[1,2.5,\"3\",true]");
  CHECK(document.edges[0].to.place.line == 22);
  CHECK(document.edges[0].to.place.column == 19);

  for (const std::string& text : {to_yaml(document), to_json(document)}) {
    const Parsed again = parse_document(text, "f.yaml");
    for (const Fault& fault : again.faults) FAIL_CHECK((to_string(fault) + "\n" + text));
    CHECK(to_json(again.document) == to_json(document));
    CHECK(to_yaml(again.document) == to_yaml(document));
    CHECK(again.document.nodes[3].budget == std::chrono::seconds(2));
    CHECK(again.document.nodes[3].steps == 7);
    CHECK(again.document.nodes[3].durable == 5);
    CHECK(again.document.edges[0].durable);
    CHECK_FALSE(again.document.edges[1].durable);
  }
}

TEST_CASE("all faults are told at once, each at its line and column") {
  const auto lines = parse_faults(
      "flow: x\n"
      "nodes:\n"
      "  a: {kind: gang}\n"
      "  b: {kind: cal, function: f}\n"
      "  c: {kind: call}\n"
      "  d: {kind: call, function: f, colour: red}\n"
      "  e: {kind: iterate, function: f, times: 0}\n"
      "  f: {kind: call, function: f, retry: {attempts: 1000, outcomes: [bad_luck]}}\n"
      "  g: {kind: call, function: f, deadline: soon}\n"
      "  g: {kind: call, function: f}\n"
      "  h: {kind: map, each: f, until: done}\n"
      "edges:\n"
      "  - {to: a}\n"
      "  - [a, b]\n");
  for (const std::string wanted :
       {"f.yaml:3:13: nodes of kind 'gang' are not there yet",
        "f.yaml:4:13: there is no kind 'cal'; there are: call, map, reduce, iterate, if, master, "
        "divide, flow",
        "f.yaml:5:6: node 'c' has no 'function'; add it",
        "f.yaml:6:32: node 'd' has no field 'colour'; it has:",
        "f.yaml:7:42: 'times' of node 'e' must be a whole number from 1",
        "f.yaml:8:50: 'attempts' of 'retry' of node 'f' must be a whole number from 1 to 100",
        "f.yaml:8:67: there is no outcome 'bad_luck'", "f.yaml:9:42: 'deadline' of node 'g'",
        "f.yaml:10:3: 'g' is there twice in 'nodes'",
        "f.yaml:11:34: 'until' of node 'h' is 'found'", "f.yaml:13:5: an edge has either 'from'",
        "f.yaml:14:5: an edge must be a map of fields"})
    CHECK_MESSAGE(any_has(lines, wanted), wanted);
  for (const std::string& line : lines) INFO(line);
  CHECK(lines.size() == 12);
}

TEST_CASE("what is no YAML, no flow, or too deep is told with its place") {
  CHECK(any_has(parse_faults("flow: [1, 2\nnodes: {"), "this is no YAML"));
  CHECK(any_has(parse_faults(""), "the flow must be a map of fields"));
  CHECK(any_has(parse_faults("[]"), "f.yaml:1:1: the flow must be a map of fields"));
  CHECK(any_has(parse_faults("flow: x\n"), "the flow has no 'nodes'"));
  CHECK(any_has(parse_faults("flow: x\nnodes: {}\n"), "a flow has at least one node"));
  CHECK(any_has(parse_faults(std::string(5000, '[')), "f.yaml:1:"));
  CHECK(any_has(parse_faults("a: &a [x, x, x, x, x, x, x, x, x, x]\n"
                             "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
                             "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
                             "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
                             "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
                             "f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
                             "g: [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n"),
                "has too many parts"));
  CHECK(any_has(parse_faults("a: &a '" + std::string(1 << 20, 'x') + "'\nb: [" +
                             [] {
                               std::string all;
                               for (int i = 0; i < 70; ++i) all += "*a, ";
                               return all;
                             }() +
                             "x]\n"),
                "aliases make more than 64 MiB of text"));
  CHECK(any_has(parse_faults("flow: x\n---\nflow: y\n"), "a second document begins here"));
}

TEST_CASE("words that YAML takes for something else keep their meaning when they are written") {
  for (const std::string word : {"NULL", "Null", "yes", "off", "True", "~", "5", "a: b"}) {
    const Parsed parsed = parse_document(
        "flow: x\nnodes: {a: {kind: call, function: f}}\nedges: [{value: '" + word + "', to: a}]\n",
        "");
    const Parsed again = parse_document(to_yaml(parsed.document), "");
    REQUIRE_MESSAGE(again.faults.empty(), word);
    CHECK(again.document.edges[0].json == '"' + word + '"');
  }
}
