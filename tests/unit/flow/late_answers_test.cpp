// What is on its way when a flow ends early, and how a call is found again after a crash.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "flow/engine.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

Plan map_and_sum(const std::string& more = "") {
  return plan_of("flow: test\n" + functions_section() +
                 "inputs: {n: u64}\n"
                 "nodes:\n"
                 "  m: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: "
                 "twice" +
                 more +
                 "}\n"
                 "  s: {kind: reduce, function: sum, fan: 4}\n"
                 "edges: [{from: n, to: m.n}, {from: m, to: s}]\n"
                 "outputs: {r: s}\n");
}

struct Stage {
  explicit Stage(const Plan& plan, const EngineOptions& options = {.window = 8, .key = "k"})
      : engine(Engine::start(plan, {value("u64", "20")}, options).value()), platform(plan) {
    apply(Tick{});
    apply(platform.answer(random));  // the partition
  }
  void apply(Event event) { platform.take(engine.apply(std::move(event), {})); }
  void to_the_end() {
    while (engine.outcome() == FlowOutcome::running) apply(platform.answer(random));
  }
  Engine engine;
  Platform platform;
  std::mt19937_64 random{5};
};

}  // namespace

TEST_CASE("answers behind a failure or a cancellation count, and their calls are not made again") {
  const Plan plan = map_and_sum();
  for (const bool fails : {true, false}) {
    Stage stage(plan);
    const std::vector<StartCall> open = stage.platform.open();
    REQUIRE(open.size() == 8);
    if (fails)
      stage.apply(CallFailed{.call = open[3].call, .outcome = "function_error", .message = "no"});
    else
      stage.apply(Cancel{});
    REQUIRE(stage.engine.outcome() != FlowOutcome::running);
    for (const StartCall& call : open)
      if (!fails || call.call != open[3].call) stage.apply(answer_to(call));
    CHECK(stage.engine.progress(0).done == (fails ? 7U : 8U));
    // Also by way of a snapshot.
    auto again = Engine::resume(plan, stage.engine.snapshot(), {.window = 8, .run = 1}).value();
    CHECK(again.progress(0).done == (fails ? 7U : 8U));
    const unsigned before = stage.platform.calls.at("twice");
    stage.apply(GoOn{});
    stage.to_the_end();
    CHECK(stage.platform.calls.at("twice") - before == (fails ? 13U : 12U));
    CHECK(outputs_of(plan, stage.engine).at("r") == "420");
  }
}

TEST_CASE("an answer that is late ends its node, and what waits for that begins when it goes on") {
  const Plan plan = map_and_sum();
  Stage stage(plan, {.window = 100, .key = "k"});
  const std::vector<StartCall> open = stage.platform.open();
  REQUIRE(open.size() == 20);
  stage.apply(Cancel{});
  for (const StartCall& call : open) stage.apply(answer_to(call));
  CHECK(stage.engine.progress(0).state == NodeState::done);
  CHECK(stage.platform.open().empty());
  stage.apply(GoOn{});
  stage.to_the_end();
  CHECK(outputs_of(plan, stage.engine).at("r") == "420");
}

TEST_CASE("an answer that is late for a tree or a master that grew too large is let go") {
  const PortType byte = parse_port_type("u8").value();
  const Bytes too_many = Gathering::of(byte, (1U << 24) + 1, Bytes((1U << 24) + 1)).take(byte);
  for (const bool is_tree : {true, false}) {
    const Plan plan = plan_of(
        is_tree
            ? "flow: t\nfunctions: {divide: span<u8>(u8), solve: u8(u8), combine: u8(span<u8>)}\n"
              "inputs: {n: u8}\n"
              "nodes: {d: {kind: divide, divide: divide, solve: solve, combine: combine}}\n"
              "edges: [{from: n, to: d}]\noutputs: {r: d}\n"
            : "flow: t\nfunctions: {more: span<u8>(u8), each: u8(u8), gather: 'u8(u8,u8)'}\n"
              "inputs: {n: u8}\n"
              "nodes: {d: {kind: master, hand_out: more, each: each, gather: gather}}\n"
              "edges: [{from: n, to: d}]\noutputs: {r: d}\n");
    Engine engine = Engine::start(plan, {value("u8", "1")}, {.window = 8}).value();
    std::vector<StartCall> open;
    const auto apply = [&](Event event) {
      for (Action& action : engine.apply(std::move(event), {}))
        if (auto* start = std::get_if<StartCall>(&action)) open.push_back(std::move(*start));
    };
    const auto answer = [&](const std::string& function, const Bytes& output) {
      const auto call = std::ranges::find_if(
          open, [&](const StartCall& one) { return one.function->function == function; });
      REQUIRE(call != open.end());
      const CallId id = call->call;
      open.erase(call);
      apply(Answered{.call = id, .output = output});
    };
    const Bytes two = *value("span<u8>", "[1,2]");
    const Bytes one = *value("u8", "1");
    apply(Tick{});
    if (is_tree) {
      answer("divide", two);
      answer("divide", *value("span<u8>", "[]"));  // small enough: it is being solved
      answer("divide", too_many);
    } else {
      answer("more", two);
      answer("each", one);
      answer("gather", one);
      answer("more", too_many);
    }
    REQUIRE(engine.outcome() == FlowOutcome::failed);
    CHECK(engine.failure()->message.starts_with("it has made more than"));
    answer(is_tree ? "solve" : "each", one);
    CHECK(engine.outcome() == FlowOutcome::failed);
    CHECK(engine.progress(0).state == NodeState::failed);
  }
}

TEST_CASE("a late answer counts once, and not after the flow has gone on") {
  const Plan plan = map_and_sum();
  Stage stage(plan);
  const StartCall late = stage.platform.open().front();
  stage.apply(Cancel{});
  stage.apply(answer_to(late));
  stage.apply(answer_to(late));
  CHECK(stage.engine.progress(0).done == 1);
  const StartCall lost = [&] {
    stage.apply(GoOn{});
    const StartCall call = stage.platform.open().front();
    stage.apply(Cancel{});
    return call;
  }();
  stage.apply(GoOn{});
  stage.apply(answer_to(lost));  // it is made again, and under another number
  CHECK(stage.engine.progress(0).done == 1);
  stage.to_the_end();
  CHECK(outputs_of(plan, stage.engine).at("r") == "420");
}

TEST_CASE("a call is the same work after a crash, and another one when the flow goes on") {
  const Plan plan = map_and_sum();
  Stage stage(plan);
  const std::vector<StartCall> open = stage.platform.open();
  auto resumed = Engine::resume(plan, stage.engine.snapshot(), {.window = 8, .run = 1}).value();
  CHECK(resumed.key() == "k");
  std::set<WorkId> before;
  for (const StartCall& call : open) before.insert(call.work);
  std::set<WorkId> after;
  for (const Action& action : resumed.apply(Tick{}, {}))
    if (const auto* start = std::get_if<StartCall>(&action)) after.insert(start->work);
  CHECK(before == after);
  stage.apply(Cancel{});
  stage.apply(GoOn{});
  for (const StartCall& call : stage.platform.open()) CHECK_FALSE(before.contains(call.work));
}

TEST_CASE("no two calls of a flow are the same work, and an attempt has its number") {
  const Plan plan =
      map_and_sum(", retry: {attempts: 3, back_off: 1ms, outcomes: [function_error]}");
  Stage stage(plan);
  const StartCall first = stage.platform.open().front();
  std::set<WorkId> all;
  for (const StartCall& call : stage.platform.open()) CHECK(all.insert(call.work).second);
  stage.apply(
      CallFailed{.call = stage.platform.lose(0), .outcome = "function_error", .message = ""});
  stage.platform.take(stage.engine.apply(Tick{}, std::chrono::seconds(1)));
  while (stage.engine.outcome() == FlowOutcome::running) {
    const StartCall call = stage.platform.open().front();
    if (!all.insert(call.work).second && call.work == first.work) CHECK(call.attempt <= 2);
    stage.apply(answer_to(call));
    (void)stage.platform.lose(0);
  }
  // Pieces, and groups of three levels.
  CHECK(all.size() == 20 + 5 + 2 + 1);
}
