// The tuner: when it asks, what it learns, and what becomes of optimisers that fail or lie.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flow/tuner.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;
using namespace std::chrono_literals;

namespace {

class Scripted final : public Optimiser {
 public:
  using Script = std::function<Result<Decided>(const Situation&)>;
  explicit Scripted(Script script) : script_(std::move(script)) {}
  [[nodiscard]] std::string_view name() const override { return "scripted"; }
  [[nodiscard]] std::string description() const override { return "as the test says"; }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    return script_(situation);
  }

 private:
  Script script_;
};

Plan two_ways() {
  return plan_of("flow: ways\noptimise: [speed]\n" + functions_section() +
                 "inputs: {n: u64}\n"
                 "nodes:\n"
                 "  a: {kind: call, function: twice}\n"
                 "  b: {kind: call, function: twice}\n"
                 "  c: {kind: iterate, function: twice, times: 9}\n"
                 "edges:\n"
                 "  - {from: n, to: a}\n"
                 "  - {from: n, to: b}\n"
                 "  - {from: b, to: c}\n"
                 "outputs: {a: a, c: c}\n");
}

struct Tuned {
  explicit Tuned(Scripted::Script script) {
    std::vector<std::unique_ptr<Optimiser>> optimisers;
    optimisers.push_back(std::make_unique<Scripted>(std::move(script)));
    tuner = std::make_unique<Tuner>(plan, std::move(optimisers));
    for (const Action& action : engine.apply(Tick{}, Time{})) tuner->see(action, Time{});
  }
  [[nodiscard]] std::optional<Decided> decide(Time now = {}) {
    return tuner->decide(engine, {.workers = 1, .window = 1}, now);
  }
  Plan plan = two_ways();
  Engine engine = Engine::start(plan, {value("u64", "1")}, {.window = 1}).value();
  std::unique_ptr<Tuner> tuner;
};

}  // namespace

TEST_CASE("an optimiser is asked about nodes that are ready, and once while nothing changes") {
  unsigned asked = 0;
  Tuned flow([&](const Situation& situation) -> Result<Decided> {
    ++asked;
    REQUIRE(situation.nodes.size() == 1);  // the call of `a` is open, `c` waits for `b`
    CHECK(situation.nodes[0].name == "b");
    CHECK(situation.nodes[0].pieces_left == 1);
    return Decided{.nodes = {{.node = 1, .priority = 5, .why = "scripted: because"}}};
  });
  const auto decided = flow.decide();
  REQUIRE(decided.has_value());
  CHECK(decided->nodes.front().priority == 5);
  CHECK(flow.tuner->why(1).empty());  // it was not told yet
  flow.tuner->see(Event(*decided), Time{});
  CHECK(flow.tuner->why(1) == "scripted: because");
  CHECK_FALSE(flow.decide(1s).has_value());
  CHECK(asked == 1);
  CHECK(flow.tuner->take_troubles().empty());
}

TEST_CASE("an optimiser that fails is told once, and speed decides in its place") {
  Tuned flow([](const Situation&) -> Result<Decided> {
    return fail(ErrorCode::timed_out, "does not answer within 100 ms");
  });
  const auto decided = flow.decide();
  REQUIRE(decided.has_value());
  CHECK(decided->nodes.front().why.starts_with("speed: "));
  const auto troubles = flow.tuner->take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles[0] ==
        "optimiser 'scripted' does not answer within 100 ms; 'speed' decides in its place");
  CHECK(flow.tuner->take_troubles().empty());
}

TEST_CASE("an optimiser that lies is told once, and speed decides in its place") {
  const auto trouble_of = [](const Decided& lie) {
    Tuned flow([&](const Situation&) -> Result<Decided> { return lie; });
    const auto decided = flow.decide();
    REQUIRE(decided.has_value());
    CHECK(decided->nodes.front().why.starts_with("speed: "));
    const auto troubles = flow.tuner->take_troubles();
    REQUIRE(troubles.size() == 1);
    return troubles[0];
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(trouble_of({.nodes = {{.node = 99}}}), "speaks of node 99, which is not ready"));
  CHECK(has(trouble_of({.nodes = {{.node = 1, .pieces = 7}}}), "does not take pieces in runs"));
  CHECK(has(trouble_of({.nodes = {}, .open_calls = 0}), "lets no call be open"));
}

TEST_CASE("nodes that wait for a device are shown first, and out of turn only once") {
  constexpr std::size_t count = 300;
  std::string nodes;
  std::string edges;
  std::string outputs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes += "  " + name + ": {kind: call, function: twice}\n";
    edges += "  - {from: n, to: " + name + "}\n";
    outputs += "  " + name + ": " + name + "\n";
  }
  Plan plan =
      plan_of("flow: many\noptimise: [device]\n" + functions_section() +
              "inputs: {n: u64}\nnodes:\n" + nodes + "edges:\n" + edges + "outputs:\n" + outputs);
  plan.needs["twice"] = "1 core, 1 GPU | 4 cores";
  find_choices_of_devices(plan);
  std::vector<std::uint32_t> first_shown;
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  optimisers.push_back(
      std::make_unique<Scripted>([&](const Situation& situation) -> Result<Decided> {
        first_shown.push_back(situation.nodes.front().node);
        return Decided{};
      }));
  Tuner tuner(plan, std::move(optimisers));
  auto engine = Engine::start(plan, {value("u64", "1")}, {.window = 4}).value();
  for (const Action& action : engine.apply(Tick{}, Time{})) tuner.see(action, Time{});
  for (int event = 0; event < 9; ++event)
    CHECK_FALSE(tuner.decide(engine, {.workers = 4, .window = 4}, Time{}).has_value());
  CHECK(first_shown == std::vector<std::uint32_t>{0, 256});
}

TEST_CASE("when who decides on runs has failed, they are cut evenly") {
  const Plan plan = plan_of("flow: runs\noptimise: [./mine.so]\n" + functions_section() +
                            "inputs: {list: span<u64>}\n"
                            "nodes: {work: {kind: map, each: doubles}}\n"
                            "edges: [{from: list, to: work}]\noutputs: {list: work}\n");
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  optimisers.push_back(std::make_unique<Scripted>([](const Situation&) -> Result<Decided> {
    return fail(ErrorCode::unreachable, "has gone");
  }));
  Tuner tuner(plan, std::move(optimisers));
  auto engine =
      Engine::start(plan, {value("span<u64>", "[1,2,3,4,5,6,7,8,9]")}, {.window = 1}).value();
  for (const Action& action : engine.apply(Tick{}, Time{})) tuner.see(action, Time{});
  const auto decided = tuner.decide(engine, {.workers = 1, .window = 1}, Time{});
  REQUIRE(decided.has_value());
  CHECK(decided->nodes.front().pieces == 4);  // of the eight that are left
}

TEST_CASE("what calls take is learned: run times, and the least that one costs beside") {
  Tuned flow([](const Situation&) -> Result<Decided> { return Decided{}; });
  const auto answer = [&](std::uint64_t number, Time run_time, Time now) {
    flow.tuner->see(Event(Answered{.call = {.number = number}, .output = {}, .run_time = run_time}),
                    now);
  };
  answer(0, 2s, 3s);
  answer(0, 9s, 12s);   // it is not open any more
  answer(77, 1s, 12s);  // nobody knows it
  const Situation situation = flow.tuner->situation(flow.engine, {});
  const FunctionTimes* times = situation.times_of("twice");
  REQUIRE(times != nullptr);
  CHECK(times->calls == 1);
  CHECK(times->run_seconds == doctest::Approx(2));
  CHECK(times->overhead_seconds == doctest::Approx(1));
}
