// What speed knows of data: how much of it each host has, and what that makes of the order of
// nodes.
#include "flow/transfer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flow/outlook.h"
#include "flow/tuner.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

constexpr std::uint64_t gib = 1ULL << 30;

DataId object(unsigned char number) {
  DataId id;
  id.bytes[0] = std::byte{number};
  return id;
}

HostSituation host(const std::string& name, std::uint32_t free, const std::string& kind = "cpu") {
  return {.name = name, .kind = kind, .cores = 4, .cores_free = free};
}

/// As it was recorded on two hosts: `a` has the large object, `b` the small one.
std::vector<ObjectSituation> large_and_small() {
  return {{.id = object(1), .bytes = 4 * gib, .hosts = {"a"}},
          {.id = object(2), .bytes = gib, .hosts = {"b"}}};
}

Plan two_data_nodes() {
  return plan_of(
      "flow: two\noptimise: [speed]\nfunctions: {total: \"f64(data<f64>)\"}\n"
      "inputs: {near: data<f64>, far: data<f64>}\n"
      "nodes:\n"
      "  a: {kind: call, function: total}\n"
      "  b: {kind: call, function: total}\n"
      "edges: [{from: near, to: a}, {from: far, to: b}]\n"
      "outputs: {a: a, b: b}\n");
}

Value id_of(unsigned char number) {
  return value("data<f64>", "\"" + to_string(object(number)) + "\"");
}

}  // namespace

TEST_CASE("a call ends first where least has to be brought to") {
  const auto data = large_and_small();
  const FirstEnd end = first_end_of({.data = data}, {host("a", 2), host("b", 2), host("c", 4)});
  CHECK(end.host == "a");
  CHECK(end.there == 4 * gib);
  CHECK(end.missing == gib);
  CHECK(end.transfer_seconds == doctest::Approx(1.074).epsilon(0.01));
  CHECK(to_text(end) == "1.07 s until 1 GiB are on a, which has 4 GiB");
  CHECK(first_end_of({.data = {}}, {host("a", 2)}).host.empty());
}

TEST_CASE("a host without a free core is worth waiting for while the data is what takes longest") {
  const auto data = large_and_small();
  const std::vector<HostSituation> hosts{host("a", 0), host("b", 2)};
  CHECK(first_end_of({.data = data, .run_seconds = 1}, hosts).host == "a");
  CHECK(first_end_of({.data = data, .run_seconds = 60}, hosts).host == "b");
}

TEST_CASE("a call that must run on another kind of host has all of its data brought there") {
  const auto data = large_and_small();
  const std::vector<HostSituation> hosts{host("a", 2), host("b", 2), host("c", 2, "gpu")};
  const FirstEnd end = first_end_of({.data = data, .constraints = {.kind = "gpu"}}, hosts);
  CHECK(end.host == "c");
  CHECK(end.missing == 5 * gib);
  CHECK(to_text(end) == "5.37 s until 5 GiB are on c");
}

TEST_CASE("a copy that is there counts, and hosts that nobody knows of count by their data") {
  auto data = large_and_small();
  data[1].hosts.emplace_back("a");
  CHECK(first_end_of({.data = data}, {host("b", 1)}).host == "a");
  CHECK(to_text(first_end_of({.data = data}, {})) == "its 5 GiB are on a");
}

TEST_CASE("speed: of two nodes as long as each other the one whose data is far goes first") {
  Situation situation;
  situation.hosts = {host("a", 2), host("b", 0)};
  const auto node = [](std::uint32_t number, std::vector<ObjectSituation> data) {
    ReadyNode ready{.node = number, .name = "n", .function = "f", .seconds_to_end = 1};
    ready.data = std::move(data);
    return ready;
  };
  situation.nodes.push_back(node(0, {{.id = object(1), .bytes = gib, .hosts = {"a"}}}));
  situation.nodes.push_back(node(1, large_and_small()));
  const Decided decided =
      make_optimiser({.name = "speed", .options = {}})->decide(situation).value();
  REQUIRE(decided.nodes.size() == 2);
  CHECK(decided.nodes[0].priority < decided.nodes[1].priority);
  CHECK(decided.nodes[0].why == "speed: 1 s from here to the end of the flow; its 1 GiB are on a");
  CHECK(decided.nodes[1].why ==
        "speed: 2.07 s from here to the end of the flow; 1.07 s until 1 GiB are on a, which has 4 "
        "GiB");
}

std::vector<std::unique_ptr<Optimiser>> speed_alone() {
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  optimisers.push_back(make_optimiser({.name = "speed", .options = {}}));
  return optimisers;
}

/// As a driver tells both of them; `calls` gets those that begin.
void see_and_apply(Tuner& tuner, Engine& engine, Event event, std::vector<StartCall>& calls) {
  tuner.see(event, Time{});
  for (Action& action : engine.apply(std::move(event), Time{})) {
    tuner.see(action, Time{});
    if (auto* start = std::get_if<StartCall>(&action)) calls.push_back(std::move(*start));
  }
}

TEST_CASE("the tuner wants to know of objects once, and of those that may have moved again") {
  const Plan plan = two_data_nodes();
  Tuner tuner(plan, speed_alone());
  Engine engine = Engine::start(plan, {id_of(1), id_of(2)}, {.window = 1}).value();
  std::vector<StartCall> calls;
  const auto tell = [&](Event event) { see_and_apply(tuner, engine, std::move(event), calls); };
  tell(Tick{});
  tuner.set_hosts({host("a", 2), host("b", 2)});
  // The other node's call is under way.
  REQUIRE(calls.size() == 1);
  REQUIRE(tuner.wanted_objects(engine) == std::vector<DataId>{object(2)});
  tuner.see_objects({{.id = object(2), .bytes = gib, .hosts = {"b"}}});
  CHECK(tuner.wanted_objects(engine).empty());
  const Situation situation = tuner.situation(engine, {.workers = 1, .window = 1});
  REQUIRE(situation.nodes.size() == 1);
  REQUIRE(situation.nodes[0].data.size() == 1);
  CHECK(situation.nodes[0].data[0].bytes == gib);
  CHECK(situation.nodes[0].data[0].hosts == std::vector<std::string>{"b"});
  const auto decided = tuner.decide(engine, {.workers = 1, .window = 1}, Time{});
  REQUIRE(decided.has_value());
  CHECK(decided->nodes.at(0).why.ends_with("its 1 GiB are on b"));
}

TEST_CASE("nobody is asked again and again of what is not told") {
  const Plan plan = two_data_nodes();
  Tuner tuner(plan, speed_alone());
  Engine engine = Engine::start(plan, {id_of(1), id_of(2)}, {.window = 1}).value();
  for (const Action& action : engine.apply(Tick{}, Time{})) tuner.see(action, Time{});
  REQUIRE(tuner.wanted_objects(engine).size() == 1);
  tuner.see_objects({});
  CHECK(tuner.wanted_objects(engine).empty());
}

TEST_CASE("nodes are looked at for data when they change, and not at each event of others") {
  const Plan plan = plan_of(
      "flow: apart\noptimise: [speed]\n"
      "functions: {make: \"data<f64>(u64)\", total: \"f64(data<f64>)\", plain: \"u64(u64)\"}\n"
      "inputs: {n: u64, d: data<f64>}\n"
      "nodes:\n"
      "  made: {kind: call, function: make}\n"
      "  look: {kind: call, function: total}\n"
      "  given: {kind: call, function: total}\n"
      "  p1: {kind: call, function: plain}\n"
      "  p2: {kind: call, function: plain}\n"
      "edges: [{from: n, to: made}, {from: made, to: look}, {from: d, to: given}, {from: n, to: "
      "p1}, {from: p1, to: p2}]\n"
      "outputs: {a: look, b: given, c: p2}\n");
  Tuner tuner(plan, speed_alone());
  Engine engine = Engine::start(plan, {value("u64", "1"), id_of(1)}, {.window = 8}).value();
  std::vector<StartCall> calls;
  const auto tell = [&](Event event) { see_and_apply(tuner, engine, std::move(event), calls); };
  const auto answer = [&](const std::string& function, const Bytes& output) {
    const auto call = std::ranges::find_if(
        calls, [&](const StartCall& one) { return one.function->function == function; });
    REQUIRE(call != calls.end());
    const CallId id = call->call;
    calls.erase(call);
    tell(Answered{.call = id, .output = output});
  };
  tell(Tick{});
  CHECK(tuner.may_want_objects());
  CHECK(tuner.wanted_objects(engine).empty());  // the call of `given` is under way
  CHECK_FALSE(tuner.may_want_objects());
  answer("plain", *value("u64", "1"));  // nothing is given data behind it
  answer("plain", *value("u64", "1"));
  CHECK_FALSE(tuner.may_want_objects());
  engine.set_window(0);
  answer("make", *id_of(2));
  CHECK(tuner.may_want_objects());
  (void)tuner.wanted_objects(engine);
  CHECK_FALSE(tuner.may_want_objects());
  tuner.set_hosts({host("a", 2)});
  tuner.see_hosts({host("a", 2)});
  CHECK(tuner.may_want_objects());  // at all again
}

TEST_CASE("of more objects than are looked at together the rest comes next") {
  std::string document = "flow: many\noptimise: [speed]\nfunctions: {total: \"f64(data<f64>)\"}\n";
  std::string inputs;
  std::string nodes;
  std::string edges;
  std::string outputs;
  std::vector<Value> values;
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    const std::string comma = i == 0 ? "" : ", ";
    inputs += comma + "d" + number + ": data<f64>";
    nodes += "  n" + number + ": {kind: call, function: total}\n";
    edges += comma + "{from: d" + number + ", to: n" + number + "}";
    outputs += comma + "o" + number + ": n" + number;
    values.push_back(id_of(static_cast<unsigned char>(i + 1)));
  }
  document += "inputs: {" + inputs + "}\nnodes:\n" + nodes + "edges: [" + edges + "]\noutputs: {" +
              outputs + "}\n";
  const Plan plan = plan_of(document);
  Tuner tuner(plan, speed_alone());
  Engine engine = Engine::start(plan, std::move(values), {.window = 1}).value();
  for (const Action& action : engine.apply(Tick{}, Time{})) tuner.see(action, Time{});
  const auto tell = [&](const std::vector<DataId>& wanted) {
    std::vector<ObjectSituation> found;
    for (const DataId& id : wanted) found.push_back({.id = id, .bytes = gib, .hosts = {"a"}});
    tuner.see_objects(std::move(found));
  };
  const auto first = tuner.wanted_objects(engine);
  CHECK(first.size() == 64);
  tell(first);
  const auto second = tuner.wanted_objects(engine);
  CHECK(second.size() == 35);  // and one whose call is under way
  tell(second);
  CHECK_FALSE(tuner.may_want_objects());
}

TEST_CASE("what a function has given goes along the edges of the next node that calls it") {
  const Plan plan = plan_of(
      "flow: edges\noptimise: [speed]\n"
      "functions: {make: \"data<f64>(u64)\", total: \"f64(data<f64>)\"}\n"
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  make1: {kind: call, function: make}\n"
      "  make2: {kind: call, function: make}\n"
      "  make3: {kind: call, function: make}\n"
      "  look1: {kind: call, function: total}\n"
      "  look2: {kind: call, function: total}\n"
      "  look3: {kind: call, function: total}\n"
      "edges: [{from: n, to: make1}, {from: n, to: make2}, {from: n, to: make3}, {from: make1, to: "
      "look1}, {from: make2, to: look2}, {from: make3, to: look3}]\n"
      "outputs: {a: look1, b: look2, c: look3}\n");
  Tuner tuner(plan, speed_alone());
  tuner.set_hosts({host("a", 2), host("b", 2)});
  Engine engine = Engine::start(plan, {value("u64", "1")}, {.window = 1}).value();
  std::vector<StartCall> calls;
  const auto tell = [&](Event event) { see_and_apply(tuner, engine, std::move(event), calls); };
  tell(Tick{});
  REQUIRE(plan.nodes[calls.at(0).node].main.function == "make");
  const auto seconds = [&] {
    const auto decided = tuner.decide(engine, {.workers = 1, .window = 1}, std::chrono::seconds(1));
    (void)decided;
    for (const ReadyNode& ready : tuner.situation(engine, {.workers = 1, .window = 1}).nodes)
      if (ready.function == "make") return ready.seconds_to_end;
    return -1.0;
  };
  const double before = seconds();
  REQUIRE(before > 0);
  tell(Answered{.call = calls[0].call, .output = *id_of(1)});
  const auto wanted = tuner.wanted_objects(engine);
  REQUIRE(std::ranges::find(wanted, object(1)) != wanted.end());
  tuner.see_objects({{.id = object(1), .bytes = 2'000'000'000, .hosts = {"a"}}});
  // Half of it, on the average: one of the two hosts is where it was made.
  CHECK(seconds() == doctest::Approx(before + 1).epsilon(0.01));
}

TEST_CASE("a flow's outlook has the time that its inputs take") {
  const Plan plan = plan_of(
      "flow: both\nfunctions: {both: \"f64(data<f64>,data<f64>)\"}\n"
      "inputs: {large: data<f64>, small: data<f64>}\n"
      "nodes: {n: {kind: call, function: both, takes: [x, y]}}\n"
      "edges: [{from: large, to: n.x}, {from: small, to: n.y}]\n"
      "outputs: {r: n}\n");
  const Outlook outlook = outlook_of(plan, {.seconds = {{"both", 3}},
                                            .inputs = {id_of(1), id_of(2)},
                                            .objects = large_and_small(),
                                            .hosts = {host("a", 2), host("b", 2)}});
  CHECK(outlook.nodes[0].why == "1.07 s until 1 GiB are on a, which has 4 GiB");
  REQUIRE(outlook.nodes[0].seconds.has_value());
  CHECK(*outlook.nodes[0].seconds == doctest::Approx(4.07).epsilon(0.01));
}
