#include "flow/engine.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

using Outputs = std::map<std::string, std::string>;

Plan plan_with(const std::string& rest) {
  return plan_of("flow: test\n" + functions_section() + rest);
}

Plan map_of_seven(const std::string& policy) {
  return plan_with(
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  search: {kind: map, partition: {function: count, takes: [n]}, each: twice, takes: [n]" +
      policy +
      "}\n"
      "edges: [{from: n, to: search.n}]\n"
      "outputs: {all: search}\n");
}

/// A flow that runs, and what has come of it so far.
struct Running {
  explicit Running(const Plan& plan, const std::string& n = "7", const EngineOptions& options = {})
      : engine(Engine::start(plan, {value("u64", n)}, options).value()), platform(plan) {
    apply(Tick{});
  }
  void apply(Event event, Time now = {}) { platform.take(engine.apply(std::move(event), now)); }
  void fail(std::size_t call, const std::string& outcome, Time now = {}) {
    apply(CallFailed{.call = platform.lose(call), .outcome = outcome, .message = "why"}, now);
  }
  Engine engine;
  Platform platform;
  std::mt19937_64 random{7};
};

constexpr auto chain =
    "inputs: {n: u64}\n"
    "nodes:\n"
    "  a: {kind: call, function: twice}\n"
    "  b: {kind: call, function: next, takes: [x, y]}\n"
    "edges: [{from: n, to: a}, {from: a, to: b.x}, {value: 1, to: b.y}]\n"
    "outputs: {r: b}\n";

}  // namespace

TEST_CASE("values go from node to node") {
  CHECK(outputs_of(plan_with(chain), {value("u64", "20")}) == Outputs{{"r", "41"}});
}

TEST_CASE("a map gives the results of its pieces in their order, or what merge makes of them") {
  CHECK(outputs_of(map_of_seven(""), {value("u64", "7")}) ==
        Outputs{{"all", "[2,4,6,8,10,12,14]"}});
  CHECK(outputs_of(map_of_seven(", merge: sum"), {value("u64", "7")}) == Outputs{{"all", "56"}});
}

TEST_CASE("a map that has merged had as many pieces as before, also after a resume in between") {
  const Plan plan = map_of_seven(", merge: sum");
  Running flow(plan);
  while (!flow.platform.calls.contains("sum")) flow.apply(flow.platform.answer(flow.random));
  auto again = Engine::resume(plan, flow.engine.snapshot(), {.run = 1}).value();
  Platform platform(plan);
  platform.take(again.apply(Tick{}, {}));
  platform.take(again.apply(platform.answer(flow.random), {}));
  flow.apply(flow.platform.answer(flow.random));
  for (const Engine* engine : {&flow.engine, &again}) {
    REQUIRE(engine->outcome() == FlowOutcome::done);
    CHECK(engine->progress(0).done == 7);
    CHECK(engine->progress(0).total == 7);
  }
}

TEST_CASE("a partition may take nothing") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  m: {kind: map, partition: all, each: twice}\n"
      "  last: {kind: call, function: twice}\n"
      "edges: [{from: n, to: last}]\n"
      "outputs: {r: m, l: last}\n");
  CHECK(outputs_of(plan, {value("u64", "1")}).at("r") == "[2,4,6]");
}

TEST_CASE("a map without partition takes the elements of its first port, and shares the others") {
  const Plan plan = plan_with(
      "inputs: {list: span<u64>}\n"
      "nodes: {add: {kind: map, each: next, takes: [list, more]}}\n"
      "edges: [{from: list, to: add.list}, {value: 100, to: add.more}]\n"
      "outputs: {all: add}\n");
  CHECK(outputs_of(plan, {value("span<u64>", "[1,2,3]")}) == Outputs{{"all", "[101,102,103]"}});
}

TEST_CASE("a map with until ends with the first result that is something, and stops the others") {
  const Plan plan = plan_with(
      "inputs: {n: u64, wanted: u64}\n"
      "nodes:\n"
      "  search:\n"
      "    kind: map\n"
      "    takes: [n, wanted]\n"
      "    partition: {function: count, takes: [n]}\n"
      "    each: seven\n"
      "    until: found\n"
      "edges: [{from: n, to: search.n}, {from: wanted, to: search.wanted}]\n"
      "outputs: {r: search}\n");
  CHECK(outputs_of(plan, {value("u64", "9"), value("u64", "7")}) == Outputs{{"r", "\"found 7\""}});
  CHECK(outputs_of(plan, {value("u64", "9"), value("u64", "70")}) == Outputs{{"r", "\"\""}});
  auto engine = Engine::start(plan, {value("u64", "9"), value("u64", "7")}, {}).value();
  Platform platform(plan);
  std::mt19937_64 random(1);
  platform.take(engine.apply(Tick{}, {}));
  platform.take(engine.apply(platform.answer(random), {}));
  const StartCall seventh = platform.open()[6];
  platform.take(engine.apply(answer_to(seventh), {}));
  CHECK(engine.outcome() == FlowOutcome::done);
  CHECK(platform.stopped.size() == 8);  // nine pieces were open
  CHECK(engine.open_calls() == 0);
}

TEST_CASE("a function can say when a map or an iteration ends") {
  const Plan iteration = plan_with(
      "inputs: {n: u64}\n"
      "nodes: {grow: {kind: iterate, function: next, takes: [state, by], times: 100, until: "
      "{function: is_big}}}\n"
      "edges: [{from: n, to: grow.state}, {value: 20, to: grow.by}]\n"
      "outputs: {r: grow}\n");
  CHECK(outputs_of(iteration, {value("u64", "1")}) == Outputs{{"r", "61"}});
  const Plan map = map_of_seven(", until: {function: is_big}");
  CHECK(outputs_of(map, {value("u64", "26")}).at("all") == "52");
}

TEST_CASE("an iteration without until makes all its steps") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes: {grow: {kind: iterate, function: twice, times: 5}}\n"
      "edges: [{from: n, to: grow}]\n"
      "outputs: {r: grow}\n");
  CHECK(outputs_of(plan, {value("u64", "1")}) == Outputs{{"r", "32"}});
}

TEST_CASE("a tree joins elements group by group until one is left") {
  const Plan plan = plan_with(
      "inputs: {list: span<u64>}\n"
      "nodes: {total: {kind: reduce, function: sum, fan: 3}}\n"
      "edges: [{from: list, to: total}]\n"
      "outputs: {r: total}\n");
  CHECK(outputs_of(plan, {value("span<u64>", "[1,2,3,4,5,6,7,8,9,10]")}) == Outputs{{"r", "55"}});
  CHECK(outputs_of(plan, {value("span<u64>", "[4]")}) == Outputs{{"r", "4"}});
}

TEST_CASE("only the branch that is meant runs") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  big: {kind: call, function: is_big}\n"
      "  choose: {kind: if, then: twice, else: thrice, takes: [big, x]}\n"
      "edges: [{from: n, to: big}, {from: big, to: choose.big}, {from: n, to: choose.x}]\n"
      "outputs: {r: choose}\n");
  CHECK(outputs_of(plan, {value("u64", "20")}) == Outputs{{"r", "60"}});
  CHECK(outputs_of(plan, {value("u64", "60")}) == Outputs{{"r", "120"}});
}

TEST_CASE("what the platform is to blame for is tried again, later each time") {
  const Plan plan = plan_with(chain);
  Running flow(plan);
  flow.fail(0, "worker_lost");
  CHECK(flow.platform.open().empty());
  REQUIRE(flow.platform.wake.has_value());
  CHECK(*flow.platform.wake == std::chrono::milliseconds(100));
  flow.apply(Tick{}, std::chrono::milliseconds(99));
  CHECK(flow.platform.open().empty());
  flow.apply(Tick{}, std::chrono::milliseconds(100));
  flow.fail(0, "evicted", std::chrono::milliseconds(100));
  CHECK(*flow.platform.wake == std::chrono::milliseconds(300));
  flow.apply(Tick{}, std::chrono::milliseconds(300));
  flow.fail(0, "worker_lost", std::chrono::milliseconds(300));
  CHECK(flow.engine.outcome() == FlowOutcome::failed);
  REQUIRE(flow.platform.failures.size() == 3);
  CHECK(flow.platform.failures[0].again);
  CHECK_FALSE(flow.platform.failures[2].again);
  CHECK(flow.platform.failures[2].attempt == 3);
  CHECK(flow.platform.ends == 1);
}

TEST_CASE("a function's own failure ends the flow at once, unless the node says otherwise") {
  const Plan plan = map_of_seven("");
  Running flow(plan);
  flow.apply(flow.platform.answer(flow.random));
  flow.fail(4, "function_crashed");
  CHECK(flow.engine.outcome() == FlowOutcome::failed);
  REQUIRE(flow.engine.failure().has_value());
  CHECK(flow.engine.failure()->part == "piece 5 of 7");
  CHECK(flow.engine.failure()->outcome == "function_crashed");
  CHECK(flow.engine.open_calls() == 0);
  CHECK(flow.platform.states.at(0) == NodeState::failed);

  const Plan patient =
      map_of_seven(", retry: {attempts: 2, back_off: 1s, outcomes: [function_crashed]}");
  Running second(patient);
  second.apply(second.platform.answer(second.random));
  second.fail(4, "function_crashed");
  CHECK(second.engine.outcome() == FlowOutcome::running);
  second.fail(0, "worker_lost");  // not in its list
  CHECK(second.engine.outcome() == FlowOutcome::failed);
}

TEST_CASE("a flow that has stopped goes on from there") {
  const Plan plan = map_of_seven("");
  Running flow(plan);
  flow.apply(flow.platform.answer(flow.random));
  for (int i = 0; i < 3; ++i) flow.apply(flow.platform.answer(flow.random));
  flow.fail(0, "function_error");
  flow.apply(Tick{}, std::chrono::hours(1));
  CHECK(flow.platform.open().empty());
  flow.apply(GoOn{});
  CHECK(flow.platform.open().size() == 4);  // three pieces are not called again
  while (flow.engine.outcome() == FlowOutcome::running)
    flow.apply(flow.platform.answer(flow.random));
  CHECK(outputs_of(plan, flow.engine) == Outputs{{"all", "[2,4,6,8,10,12,14]"}});
  CHECK(flow.platform.calls.at("count") == 1);
  CHECK(flow.platform.ends == 2);
}

TEST_CASE("cancelling stops all calls, and answers that come later change nothing") {
  const Plan plan = map_of_seven("");
  Running flow(plan);
  flow.apply(flow.platform.answer(flow.random));
  const StartCall late = flow.platform.open()[2];
  flow.apply(Cancel{});
  CHECK(flow.engine.outcome() == FlowOutcome::cancelled);
  CHECK(flow.platform.stopped.size() == 7);
  CHECK(flow.platform.states.at(0) == NodeState::cancelled);
  flow.apply(answer_to(late));
  CHECK(flow.engine.outcome() == FlowOutcome::cancelled);
  CHECK(flow.platform.ends == 1);
}

TEST_CASE("a map without pieces fails and says so") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes: {m: {kind: map, partition: {function: empty, takes: [n]}, each: twice, takes: [n]}}\n"
      "edges: [{from: n, to: m.n}]\n"
      "outputs: {r: m}\n");
  Running flow(plan);
  flow.apply(flow.platform.answer(flow.random));
  CHECK(flow.engine.outcome() == FlowOutcome::failed);
  CHECK(flow.engine.failure()->message.find("there are no pieces") != std::string::npos);
}

TEST_CASE("output that is no value of the declared type is a failure of the call") {
  const Plan plan = plan_with(chain);
  Running flow(plan);
  flow.apply(Answered{.call = flow.platform.open()[0].call, .output = Bytes(3)});
  CHECK(flow.engine.outcome() == FlowOutcome::failed);
  CHECK(flow.engine.failure()->message.find("3 bytes of output are no u64") != std::string::npos);
}

TEST_CASE("no more calls are open than the flow and the node allow") {
  const Plan plan = map_of_seven(", window: 2");
  Running narrow(plan, "1000");
  while (narrow.engine.outcome() == FlowOutcome::running)
    narrow.apply(narrow.platform.answer(narrow.random));
  CHECK(narrow.platform.most_open == 2);
  const Plan free = map_of_seven("");
  Running wide(free, "1000", {.window = 16});
  while (wide.engine.outcome() == FlowOutcome::running)
    wide.apply(wide.platform.answer(wide.random));
  CHECK(wide.platform.most_open == 16);
}

TEST_CASE("a million pieces are never there at once, even if the first takes for ever") {
  const Plan plan = plan_with(
      "inputs: {list: span<u64>}\n"
      "nodes: {m: {kind: map, each: twice}}\n"
      "edges: [{from: list, to: m}]\n"
      "outputs: {r: m}\n");
  constexpr std::uint64_t pieces = 1'000'000;
  Gathering list;
  const PortType u64 = parse_port_type("u64").value();
  for (std::uint64_t i = 0; i < pieces; ++i) list.add(u64, std::as_bytes(std::span(&i, 1)));
  auto engine =
      Engine::start(plan, {std::make_shared<const Bytes>(list.take(u64))}, {.window = 64}).value();
  const auto doubled = [](const StartCall& call) {
    std::uint64_t number = count_of(call.input);  // the 8 bytes of a u64
    number *= 2;
    const auto bytes = std::as_bytes(std::span(&number, 1));
    return Answered{.call = call.call, .output = Bytes(bytes.begin(), bytes.end())};
  };
  std::vector<StartCall> open;
  const auto take = [&open](std::vector<Action> actions) {
    for (Action& action : actions)
      if (auto* call = std::get_if<StartCall>(&action)) open.push_back(std::move(*call));
  };
  take(engine.apply(Tick{}, {}));
  std::size_t answered = 0;
  while (open.size() > 1) {  // all but the first, for as long as others are started
    const StartCall call = std::move(open.back());
    open.pop_back();
    take(engine.apply(doubled(call), {}));
    ++answered;
    CHECK(open.size() <= 64);
  }
  CHECK(answered < 5000);
  while (!open.empty()) {
    const StartCall call = std::move(open.back());
    open.pop_back();
    take(engine.apply(doubled(call), {}));
  }
  CHECK(engine.outcome() == FlowOutcome::done);
  CHECK(count_of(*engine.output(0)) == pieces);
}

TEST_CASE("inputs that do not fit are refused before anything runs") {
  const Plan plan = plan_with(chain);
  CHECK_FALSE(Engine::start(plan, {}, {}).has_value());
  CHECK(Engine::start(plan, {std::make_shared<const Bytes>(Bytes(3))}, {}).error().message ==
        "input 'n' is no u64");
}

TEST_CASE("a master hands out work as it goes, and gathers until it has no more") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes: {lead: {kind: master, hand_out: hand, each: twice, gather: next}}\n"
      "edges: [{from: n, to: lead}]\n"
      "outputs: {r: lead}\n");
  CHECK(outputs_of(plan, {value("u64", "0")}) == Outputs{{"r", "30"}});
  // It gathers one result at a time, while others are being worked at.
  Running flow(plan, "0");
  flow.apply(answer_to(flow.platform.open().at(0)));
  (void)flow.platform.lose(0);
  CHECK(flow.platform.open().size() == 4);
  CHECK(flow.engine.progress(0).total == 4);
  flow.apply(flow.platform.answer(flow.random));
  flow.apply(flow.platform.answer(flow.random));
  CHECK(flow.engine.progress(0).done >= 1);
  while (flow.engine.outcome() == FlowOutcome::running)
    flow.apply(flow.platform.answer(flow.random));
  CHECK(flow.platform.calls.at("twice") == 5);
  CHECK(flow.platform.calls.at("next") == 5);
  CHECK(flow.engine.progress(0).done == 5);
}

TEST_CASE("a master with nothing to hand out gives the state that it was given") {
  CHECK(outputs_of(plan_with("inputs: {n: u64}\n"
                             "nodes: {lead: {kind: master, hand_out: hand, each: twice, gather: "
                             "next}}\n"
                             "edges: [{from: n, to: lead}]\n"
                             "outputs: {r: lead}\n"),
                   {value("u64", "7")}) == Outputs{{"r", "7"}});
}

TEST_CASE("a problem is divided until its parts are small, and their results are combined") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes: {d: {kind: divide, divide: halves, solve: thrice, combine: sum}}\n"
      "edges: [{from: n, to: d}]\n"
      "outputs: {r: d}\n");
  CHECK(outputs_of(plan, {value("u64", "2")}) == Outputs{{"r", "6"}});
  CHECK(outputs_of(plan, {value("u64", "100")}) == Outputs{{"r", "300"}});
  Running flow(plan, "100", {.window = 2});
  while (flow.engine.outcome() == FlowOutcome::running)
    flow.apply(flow.platform.answer(flow.random));
  // Each inner branch is divided and combined, each leaf is asked about and solved.
  CHECK(flow.platform.calls.at("sum") + flow.platform.calls.at("thrice") ==
        flow.platform.calls.at("halves"));
  CHECK(flow.platform.most_open <= 2);
}

TEST_CASE("a branch that fails is told by its number, and made again when the flow goes on") {
  const Plan plan = plan_with(
      "inputs: {n: u64}\n"
      "nodes: {d: {kind: divide, divide: halves, solve: thrice, combine: sum}}\n"
      "edges: [{from: n, to: d}]\n"
      "outputs: {r: d}\n");
  Running flow(plan, "8", {.window = 1});
  while (flow.platform.open().front().function->function != "thrice")
    flow.apply(flow.platform.answer(flow.random));
  flow.fail(0, "function_error");
  REQUIRE(flow.engine.failure().has_value());
  CHECK(flow.engine.failure()->part.starts_with("solve of branch "));
  const unsigned halves = flow.platform.calls.at("halves");
  auto resumed = Engine::resume(plan, flow.engine.snapshot(), {.run = 1}).value();
  Platform platform(plan);
  platform.take(resumed.apply(GoOn{}, {}));
  while (resumed.outcome() == FlowOutcome::running)
    platform.take(resumed.apply(platform.answer(flow.random), {}));
  CHECK(outputs_of(plan, resumed).at("r") == "24");
  CHECK(platform.calls.at("halves") + halves == 7);  // none was divided twice
}

TEST_CASE("a map has at most so many pieces, and says so before the first call") {
  const Plan plan = plan_of(
      "flow: f\nfunctions: {f: u8(u8)}\ninputs: {list: span<u8>}\nnodes: {m: {kind: map, each: "
      "f}}\nedges: [{from: list, to: m}]\noutputs: {r: m}\n");
  const std::uint64_t count = (std::uint64_t{1} << 24) + 1;
  const PortType type = parse_port_type("u8").value();
  auto engine =
      Engine::start(
          plan,
          {std::make_shared<const Bytes>(Gathering::of(type, count, Bytes(count)).take(type))}, {})
          .value();
  for (const Action& action : engine.apply(Tick{}, {}))
    CHECK_FALSE(std::holds_alternative<StartCall>(action));
  REQUIRE(engine.failure().has_value());
  CHECK(engine.failure()->message == "16777217 pieces are more than 16777216; make larger ones");
}
