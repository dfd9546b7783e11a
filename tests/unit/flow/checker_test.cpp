#include "flow/checker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

constexpr auto head =
    "flow: test\n"
    "functions: {f: 'u64(u64)', g: 'f64(span<f64>,span<f64>)', s: 'span<u64>(u64)', raw: bytes, "
    "list: 'u64(span<u64>)', say: 'void(u64)', yes: 'bool(u64)'}\n";

std::vector<std::string> faults(const std::string& rest) { return faults_of(head + rest); }

/// The one fault that a document has.
std::string fault(const std::string& rest) {
  const auto lines = faults(rest);
  for (const std::string& line : lines) CAPTURE(line);
  CHECK(lines.size() == 1);
  return lines.empty() ? "" : lines[0];
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr auto one_node =
    "inputs: {n: u64}\n"
    "nodes: {a: {kind: call, function: f}}\n"
    "edges: [{from: n, to: a}]\n"
    "outputs: {r: a}\n";

}  // namespace

TEST_CASE(
    "a good flow has no faults, and its plan has its nodes in an order in which they can run") {
  CHECK(faults(one_node).empty());
  const Plan plan =
      plan_of(std::string(head) +
              "inputs: {n: u64}\n"
              "nodes: {last: {kind: call, function: f}, first: {kind: call, function: f}}\n"
              "edges: [{from: first, to: last}, {from: n, to: first}]\n"
              "outputs: {r: last}\n");
  REQUIRE(plan.nodes.size() == 2);
  CHECK(plan.nodes[0].name == "first");
  CHECK(plan.nodes[0].consumers == std::vector<std::uint32_t>{1});
  CHECK(plan.nodes[1].is_output);
}

TEST_CASE("a cycle is told with the nodes that are in it") {
  const std::string line = fault(
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  a: {kind: call, function: f}\n"
      "  b: {kind: call, function: f}\n"
      "  c: {kind: call, function: f}\n"
      "  d: {kind: call, function: f}\n"
      "edges: [{from: n, to: a}, {from: d, to: b}, {from: b, to: c}, {from: c, to: d}]\n"
      "outputs: {r: a, other: d}\n");
  CHECK((has(line, "wait for each other: b -> c -> d -> b") ||
         has(line, "wait for each other: c -> d -> b -> c") ||
         has(line, "wait for each other: d -> b -> c -> d")));
}

TEST_CASE("edges that lead nowhere, come from nowhere or meet at a port are told") {
  const auto with_edges = [](const std::string& edges) {
    return faults(
        "inputs: {n: u64}\n"
        "nodes: {a: {kind: call, function: f}, b: {kind: call, function: f}}\n"
        "edges: [{from: n, to: a}, {from: a, to: b}, " +
        edges + "]\noutputs: {r: b}\n");
  };
  const auto told = [&](const std::string& edges, const std::string& wanted) {
    const auto lines = with_edges(edges);
    REQUIRE_MESSAGE(lines.size() == 1, edges);
    CHECK_MESSAGE(has(lines[0], wanted), lines[0]);
  };
  told("{from: n, to: c}", "f.yaml:5:59: there is no node 'c'; there are: a, b");
  told("{from: n, to: a.x}", "node 'a' has no port 'x'; it has: 1");
  told("{from: n, to: b}", "f.yaml:5:59: two edges end at port '1' of node 'b'; take one away");
  CHECK(has(with_edges("{from: m, to: b}")[0], "there is no node or input 'm'"));
  CHECK(has(with_edges("{from: a.out, to: b}")[0], "node 'a' has one output"));
}

TEST_CASE("an edge between ports of different types is told with both") {
  CHECK(has(fault("inputs: {n: u64}\n"
                  "nodes: {a: {kind: call, function: s}, b: {kind: call, function: f}}\n"
                  "edges: [{from: n, to: a}, {from: a, to: b}]\n"
                  "outputs: {r: b}\n"),
            "f.yaml:5:27: 'a' is span<u64>, and port '1' of node 'b' takes u64"));
  CHECK(has(fault("nodes: {a: {kind: call, function: f}}\n"
                  "edges: [{value: [1], to: a}]\n"
                  "outputs: {r: a}\n"),
            "f.yaml:4:9: port '1' of node 'a' takes u64: argument 1 should be u64"));
}

TEST_CASE("what is left over is told: inputs, nodes, ports") {
  const auto lines = faults(
      "inputs: {n: u64, m: u64}\n"
      "nodes:\n"
      "  a: {kind: call, function: f}\n"
      "  b: {kind: call, function: g, takes: [x, y]}\n"
      "  c: {kind: call, function: say}\n"
      "edges: [{from: n, to: a}, {from: n, to: c}]\n"
      "outputs: {r: b}\n");
  REQUIRE(lines.size() == 4);
  CHECK(has(lines[0], "f.yaml:3:18: nobody takes input 'm'"));
  CHECK(has(lines[1], "f.yaml:5:3: nobody takes what node 'a' gives"));
  CHECK(has(lines[2], "nothing comes to port 'x' (span<f64>) of node 'b'; add an edge to 'b.x'"));
  CHECK(has(lines[3], "nothing comes to port 'y'"));
}

TEST_CASE("functions that are unknown, left open, or of another type than they must be are told") {
  const auto node = [](const std::string& text) {
    return faults("inputs: {n: u64}\nnodes: {a: {" + text +
                  "}}\nedges: [{from: n, to: a}]\noutputs: {r: a}\n");
  };
  const auto told = [&](const std::string& text, const std::string& wanted) {
    const auto lines = node(text);
    REQUIRE_MESSAGE(lines.size() == 1, text);
    CHECK_MESSAGE(has(lines[0], wanted), lines[0]);
  };
  told("kind: call, function: nobody", "f.yaml:4:35: nothing is known of function 'nobody'");
  told("kind: call, function: '?'", "f.yaml:4:35: the function is left open");
  told("kind: call, function: g, takes: [x]", "'g' takes 2 values, and node 'a' gives it 1");
  told("kind: map, each: list", "'n' is u64, and port '1' of node 'a' takes span<u64>");
  told("kind: map, partition: f, each: f", "it must be one that gives a span");
  told("kind: map, partition: {function: s, takes: [2]}, each: f", "node 'a' has no port '2'");
  told("kind: map, partition: s, each: f, merge: f", "takes the results of all pieces together");
  told("kind: map, partition: s, each: f, merge: list, until: found", "has 'until' and 'merge'");
  told("kind: map, partition: s, each: say, until: found", "its function gives nothing");
  told("kind: map, partition: s, each: f, until: {function: f}", "it must be bool(u64)");
  told("kind: reduce, function: f", "makes one element of a span of such");
  told("kind: iterate, function: s, times: 3", "gives what its first value is");
  told("kind: if, then: f, else: list, takes: [c, x]", "port 'x' of node 'a' would be u64 for one");
  told("kind: call, function: f, takes: [x, y]", "'f' takes 1 value, and node 'a' gives it 2");
  told("kind: map, partition: s, each: f, takes: [n, unused]", "'s' takes 1 value");
  told(
      "kind: map, partition: {function: s, takes: [n]}, each: {function: f, takes: []}, takes: [n, "
      "x]",
      "no function of node 'a' takes port 'x'");
}

TEST_CASE("each function of a node that is unknown is told") {
  const auto lines = faults(
      "inputs: {n: u64}\n"
      "nodes: {a: {kind: map, partition: '?', each: '?', merge: '?', until: {function: '?'}}}\n"
      "edges: [{from: n, to: a}]\n"
      "outputs: {r: a}\n");
  CHECK(lines.size() == 4);
}

TEST_CASE("a map or tree over an empty list is told") {
  for (const std::string node : {"{kind: map, each: f}", "{kind: reduce, function: list}"})
    CHECK(has(fault("nodes: {a: " + node + "}\nedges: [{value: [], to: a}]\noutputs: {r: a}\n"),
              "f.yaml:4:9: node 'a' would have nothing to do: the list is empty"));
}

TEST_CASE("names that are none, or that are used twice, are told") {
  const auto told = [](const std::string& rest, const std::string& wanted) {
    const auto lines = faults(rest);
    CHECK_MESSAGE(std::ranges::any_of(lines, [&](const auto& line) { return has(line, wanted); }),
                  wanted);
  };
  told(
      "inputs: {a: u64}\n"
      "nodes: {a: {kind: call, function: f}}\n"
      "edges: [{value: 1, to: a}]\n"
      "outputs: {r: a}\n",
      "'a' is the name of an input and of a node");
  told(
      "nodes: {a b: {kind: call, function: f}}\n"
      "edges: [{value: 1, to: a b}]\n"
      "outputs: {r: a b}\n",
      "'a b' cannot be the name of a node");
  told(
      "nodes: {a: {kind: call, function: g, takes: [x, x]}}\n"
      "edges: [{value: [1], to: a.x}]\n"
      "outputs: {r: a}\n",
      "node 'a' has two ports 'x'");
}

TEST_CASE("what is deployed counts more than what the document says of it") {
  const Parsed parsed = parse_document(std::string(head) + one_node, "f.yaml");
  const auto checked = [&](const KnownFunction& answer) {
    return check(parsed.document,
                 {.function = [&](const std::string&) { return answer; }, .open = {}});
  };
  using State = KnownFunction::State;
  CHECK(checked({.state = State::known, .signature = "u64(u64)", .message = ""}).faults.empty());
  const auto other = checked({.state = State::known, .signature = "u64(u32)", .message = ""});
  REQUIRE(other.faults.size() == 2);
  CHECK(has(to_string(other.faults[0]), "f.yaml:2:16: 'f' is deployed as u64(u32)"));
  const auto missing = checked({.state = State::missing, .signature = "", .message = "deploy it"});
  REQUIRE(missing.faults.size() == 1);
  CHECK(has(to_string(missing.faults[0]), "deploy it"));
}

namespace {

/// The faults of documents that name each other as files.
Checked checked_files(const std::map<std::string, std::string>& files) {
  const Parsed parsed = parse_document(files.at("main"), "main");
  REQUIRE(parsed.faults.empty());
  return check(
      parsed.document,
      {.function = {},
       .open = [&](const std::string& file, const std::string&) -> Result<Surroundings::Opened> {
         if (!files.contains(file)) return fail(ErrorCode::not_found, "no file " + file);
         return Surroundings::Opened{.file = file, .text = files.at(file)};
       }});
}

std::string with_inner(const std::string& file) {
  return std::string(head) +
         "inputs: {n: u64}\n"
         "nodes: {before: {kind: call, function: f}, inner: {kind: flow, file: " +
         file +
         "}, after: {kind: call, function: f}}\n"
         "edges: [{from: n, to: before}, {from: before, to: inner.n}, {from: inner, to: after}]\n"
         "outputs: {r: after}\n";
}

}  // namespace

TEST_CASE("a flow that is a node is taken apart") {
  const Checked good =
      checked_files({{"main", with_inner("x")}, {"x", std::string(head) + one_node}});
  for (const Fault& one : good.faults) FAIL_CHECK(to_string(one));
  REQUIRE(good.plan.nodes.size() == 3);
  CHECK(good.plan.nodes[1].name == "inner/a");
  CHECK(good.plan.nodes[1].ports[0].source == Source{.kind = Source::Kind::node, .index = 0});
  CHECK(good.plan.nodes[2].ports[0].source == Source{.kind = Source::Kind::node, .index = 1});
}

TEST_CASE("faults of flows that are nodes are told with their files") {
  const auto first = [](const std::map<std::string, std::string>& files) {
    const Checked checked = checked_files(files);
    REQUIRE(!checked.faults.empty());
    return to_string(checked.faults[0]);
  };
  CHECK(has(first({{"main", with_inner("y")}}), "no file y"));
  std::string by_name = with_inner("y");
  by_name.replace(by_name.find("from: inner,"), 12, "from: inner.r,");
  CHECK(checked_files({{"main", by_name}}).faults.size() == 1);
  CHECK(has(first({{"main", with_inner("x")}, {"x", "flow: x\n"}}),
            "x:1:1: the flow has no 'nodes'"));
  CHECK(has(
      first({{"main", with_inner("x")},
             {"x", std::string(head) + "inputs: {n: u64}\nnodes: {a: {kind: call, function: h}}\n"
                                       "edges: [{from: n, to: a}]\noutputs: {r: a}\n"}}),
      "x:4:35: nothing is known of function 'h'"));
  CHECK(has(first({{"main", with_inner("main")}}), "'main' would be a node of itself"));
  CHECK(has(first({{"main", with_inner("x")}, {"x", with_inner("main")}}),
            "'main' would be a node of itself: main -> x -> main"));
}

TEST_CASE("what a flow hands through is durable if a node has made it; else that is a fault") {
  const std::string functions =
      "functions: {make: 'data<u64>(u64)', look: 'u64(data<u64>)'}\n"
      "inputs: {n: u64, d: data<u64>}\n";
  const auto checked_from = [&](const std::string& from) {
    return checked_files(
        {{"main", "flow: main\n" + functions +
                      "nodes: {made: {kind: call, function: make}, inner: {kind: flow, file: x}, "
                      "seen: {kind: call, function: look}, other: {kind: call, function: look}}\n"
                      "edges:\n"
                      "  - {from: n, to: made}\n"
                      "  - {from: n, to: inner.n}\n"
                      "  - {from: d, to: other}\n"
                      "  - {" +
                      from +
                      ", to: inner.d}\n"
                      "  - {from: inner.r, to: seen, durable: true}\n"
                      "outputs: {made: made, seen: seen, other: other, own: inner.own}\n"},
         {"x", "flow: x\n" + functions +
                   "nodes: {a: {kind: call, function: make}}\n"
                   "edges: [{from: n, to: a}]\noutputs: {r: d, own: a}\n"}});
  };
  const Checked good = checked_from("from: made");
  for (const Fault& one : good.faults) FAIL_CHECK(to_string(one));
  const auto made = std::ranges::find(good.plan.nodes, "made", &PlannedNode::name);
  REQUIRE(made != good.plan.nodes.end());
  CHECK(made->keeps_value);
  for (const std::string from : {"from: d", "value: d-0102030405060708090a0b0c0d0e0f10"}) {
    CAPTURE(from);
    const Checked bad = checked_from(from);
    REQUIRE(bad.faults.size() == 1);
    CHECK(has(to_string(bad.faults[0]), "main:10:5: no node makes what comes to 'seen'"));
  }
}

TEST_CASE("a plan is shown as text and as a picture") {
  const Plan plan = plan_of(std::string(head) + one_node);
  CHECK(to_text(plan) ==
        "flow test\n"
        "  input   n: u64\n"
        "  call    a: f gives u64\n"
        "          1: u64 <- n\n"
        "  output  r: u64 <- a\n");
  CHECK(has(to_dot(plan), "i0 -> n0 [label=\"1\"];"));
  CHECK(functions_of(plan) == std::vector<std::pair<std::string, std::string>>{{"f", "u64(u64)"}});
}

TEST_CASE("a flow of a hundred thousand nodes is checked, too") {
  constexpr int count = 100'000;
  std::string text = std::string(head) + "inputs: {n: u64}\nnodes:\n";
  std::string edges = "edges:\n- {from: n, to: n0}\n";
  for (int i = 0; i < count; ++i) {
    text += "  n" + std::to_string(i) + ": {kind: call, function: f}\n";
    if (i > 0)
      edges += "- {from: n" + std::to_string(i - 1) + ", to: n" + std::to_string(i) + "}\n";
  }
  const Plan plan = plan_of(text + edges + "outputs: {r: n" + std::to_string(count - 1) + "}\n");
  CHECK(plan.nodes.size() == count);
}

TEST_CASE("the functions of a master and of a division must fit together") {
  const auto fault_of = [](const std::string& node) {
    const auto faults =
        faults_of("flow: f\n" + functions_section() + "inputs: {n: u64}\nnodes: {m: " + node +
                  "}\nedges: [{from: n, to: m}]\noutputs: {r: m}\n");
    return faults.empty() ? std::string() : faults.front();
  };
  const auto has = [&](const std::string& node, const std::string& part) {
    const std::string fault = fault_of(node);
    CHECK_MESSAGE(fault.find(part) != std::string::npos, fault);
  };
  CHECK(fault_of("{kind: master, hand_out: hand, each: twice, gather: next}").empty());
  has("{kind: master, hand_out: hand, each: twice, gather: sum}",
      "'sum' is u64(span<u64>); in node 'm' it must be one that takes a state and a result");
  has("{kind: master, hand_out: twice, each: twice, gather: next}",
      "one that takes the state, and gives a span of work");
  has("{kind: master, hand_out: hand, each: is_big, gather: next}",
      "one whose second value is the result of a piece, bool");
  has("{kind: master, hand_out: hand, each: sum, gather: next}",
      "one whose first value is a piece of work, u64");
  has("{kind: master, each: twice, gather: next}", "has no 'hand_out'; add it");
  CHECK(fault_of("{kind: divide, divide: halves, solve: thrice, combine: sum}").empty());
  has("{kind: divide, divide: twice, solve: thrice, combine: sum}",
      "one that gives a span of smaller problems of one");
  has("{kind: divide, divide: halves, solve: is_big, combine: sum}", "bool(span<bool>)");
  has("{kind: divide, divide: halves, solve: sum, combine: sum}",
      "one whose first value is a problem, u64");
  has("{kind: divide, divide: {function: halves, takes: [x]}, solve: thrice, combine: sum}",
      "has no 'takes'");
}

TEST_CASE("a plan knows the version of each function that was checked, and asks once") {
  const Parsed parsed = parse_document(
      "flow: f\ninputs: {n: u64}\n"
      "nodes: {a: {kind: call, function: f}, b: {kind: call, function: f}}\n"
      "edges: [{from: n, to: a}, {from: a, to: b}]\noutputs: {r: b}\n",
      "");
  int asked = 0;
  const Checked checked = check(parsed.document, {.function = [&](const std::string&) {
                                  ++asked;
                                  return KnownFunction{.state = KnownFunction::State::known,
                                                       .signature = "u64(u64)",
                                                       .exact = "f.e@abcdef",
                                                       .message = {}};
                                }});
  REQUIRE(checked.faults.empty());
  CHECK(asked == 1);
  CHECK(exact_name(checked.plan, "f") == "f.e@abcdef");
  CHECK(exact_name(checked.plan, "g") == "g");
}

TEST_CASE("a function's name is looked at where nobody knows functions, too") {
  const auto faults = faults_of(
      "flow: f\nfunctions: {\"f\\e[31m\": u64(u64)}\ninputs: {n: u64}\n"
      "nodes: {a: {kind: call, function: \"f\\e[31m\"}}\nedges: [{from: n, to: a}]\n"
      "outputs: {r: a}\n");
  REQUIRE_FALSE(faults.empty());
  CHECK(faults.front().find("is not") != std::string::npos);
}
