// What nodes need that come next is asked for while those before them run.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flow/tuner.h"
#include "flow_under_test.h"

using namespace orchid::flow;

TEST_CASE("prefetch: the next node is prepared once, while the one before it runs, and says so") {
  const Plan plan = plan_of("flow: next\noptimise: [prefetch]\n" + functions_section() +
                            "inputs: {n: u64}\n"
                            "nodes:\n"
                            "  a: {kind: call, function: twice}\n"
                            "  b: {kind: call, function: thrice}\n"
                            "  c: {kind: call, function: twice}\n"
                            "edges: [{from: n, to: a}, {from: a, to: b}, {from: b, to: c}]\n"
                            "outputs: {c: c}\n");
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  optimisers.push_back(make_optimiser({.name = "prefetch", .options = {}}));
  Tuner tuner(plan, std::move(optimisers));
  Engine engine = Engine::start(plan, {value("u64", "1")}, {.window = 4}).value();
  Time now{};
  std::vector<std::string> prepared;
  std::vector<StartCall> calls;
  const auto tell = [&](Event event) {
    tuner.see(event, now);
    for (Action& action : engine.apply(std::move(event), now)) {
      tuner.see(action, now);
      if (const auto* next = std::get_if<Prepare>(&action))
        prepared.push_back(plan.nodes[next->node].name);
      if (auto* start = std::get_if<StartCall>(&action)) calls.push_back(std::move(*start));
    }
  };
  const auto decide = [&] {
    now += std::chrono::milliseconds(10);
    if (auto decided = tuner.decide(engine, {.workers = 1, .window = 4}, now)) tell(*decided);
  };
  tell(Tick{});
  decide();
  decide();
  CHECK(prepared == std::vector<std::string>{"b"});
  REQUIRE(calls.size() == 1);
  tell(answer_to(calls[0]));
  decide();
  CHECK(prepared == std::vector<std::string>{"b", "c"});
  CHECK(tuner.why(1) == "prefetch: thrice and 0 of its values are made ready while a runs");
}
