// What the engine makes of decisions: the order of nodes, the length of runs, the bound of calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "flow/engine.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

Plan two_calls(const std::string& optimise = "") {
  return plan_of("flow: two\n" + optimise + functions_section() +
                 "inputs: {n: u64}\n"
                 "nodes:\n"
                 "  a: {kind: call, function: twice}\n"
                 "  b: {kind: call, function: thrice}\n"
                 "  c: {kind: call, function: twice}\n"
                 "edges:\n"
                 "  - {from: n, to: a}\n"
                 "  - {from: n, to: b}\n"
                 "  - {from: n, to: c}\n"
                 "outputs: {a: a, b: b, c: c}\n");
}

Plan in_runs(const std::string& optimise) {
  return plan_of("flow: runs\n" + optimise + functions_section() +
                 "inputs: {list: span<u64>}\n"
                 "nodes: {work: {kind: map, each: doubles}}\n"
                 "edges: [{from: list, to: work}]\n"
                 "outputs: {list: work}\n");
}

std::string list_to(unsigned count) {
  std::string text = "[0";
  for (unsigned i = 1; i < count; ++i) text += "," + std::to_string(i);
  return text + "]";
}

std::vector<StartCall> starts_of(std::vector<Action> actions) {
  std::vector<StartCall> starts;
  for (Action& action : actions)
    if (auto* start = std::get_if<StartCall>(&action)) starts.push_back(std::move(*start));
  return starts;
}

/// How many pieces each of the calls has.
std::vector<std::uint64_t> lengths_of(const std::vector<StartCall>& starts) {
  std::vector<std::uint64_t> lengths;
  for (const StartCall& start : starts) lengths.push_back(start.pieces);
  return lengths;
}

}  // namespace

TEST_CASE("nodes with a higher priority start first, and those that are equal take turns") {
  const Plan plan = two_calls();
  auto engine = Engine::start(plan, {value("u64", "1")}, {.window = 1}).value();
  const auto first = starts_of(engine.apply(Tick{}, Time{}));
  REQUIRE(first.size() == 1);
  CHECK(first[0].node == 0);
  CHECK(starts_of(engine.apply(Decided{.nodes = {{.node = 2, .priority = 7}}}, Time{})).empty());
  const auto second = starts_of(engine.apply(answer_to(first[0]), Time{}));
  REQUIRE(second.size() == 1);
  CHECK(second[0].node == 2);
  const auto third = starts_of(engine.apply(answer_to(second[0]), Time{}));
  REQUIRE(third.size() == 1);
  CHECK(third[0].node == 1);
}

TEST_CASE("a decision bounds the calls that are open, and frees them again") {
  const Plan plan = two_calls();
  auto engine = Engine::start(plan, {value("u64", "1")}, {.window = 8}).value();
  CHECK(starts_of(engine.apply(Decided{.nodes = {}, .open_calls = 1}, Time{})).empty());
  CHECK(starts_of(engine.apply(Tick{}, Time{})).size() == 1);
  CHECK(starts_of(engine.apply(Decided{.nodes = {}, .open_calls = 9}, Time{})).size() == 2);
}

TEST_CASE("a map whose function takes a span is given runs, two for each call that may be open") {
  const Plan plan = in_runs("");
  auto engine = Engine::start(plan, {value("span<u64>", list_to(100))}, {.window = 5}).value();
  const auto starts = starts_of(engine.apply(Tick{}, Time{}));
  CHECK(lengths_of(starts) == std::vector<std::uint64_t>(5, 10));
  CHECK(outputs_of(plan, {value("span<u64>", "[1,2,3]")}).at("list") == "[2,4,6]");
}

TEST_CASE("optimisers that say nothing of runs leave them as they are") {
  const Plan plan = in_runs("optimise: [speed]\n");
  auto engine = Engine::start(plan, {value("span<u64>", list_to(100))}, {.window = 5}).value();
  CHECK(lengths_of(starts_of(engine.apply(Tick{}, Time{}))) == std::vector<std::uint64_t>(5, 10));
}

TEST_CASE("where an optimiser learns, the first calls have one piece; then what it says counts") {
  const Plan plan = in_runs("optimise: [granularity]\n");
  auto engine = Engine::start(plan, {value("span<u64>", list_to(100))}, {.window = 2}).value();
  const auto first = starts_of(engine.apply(Tick{}, Time{}));
  CHECK(lengths_of(first) == std::vector<std::uint64_t>{1, 1});
  (void)engine.apply(Decided{.nodes = {{.node = 0, .pieces = 30}}}, Time{});
  const auto next = starts_of(engine.apply(answer_to(first[0]), Time{}));
  CHECK(lengths_of(next) == std::vector<std::uint64_t>{30});
  // No more than a tenth of the 68 that are left.
  (void)engine.apply(Decided{.nodes = {{.node = 0, .pieces = 30, .share = 10}}}, Time{});
  const auto share = starts_of(engine.apply(answer_to(first[1]), Time{}));
  CHECK(lengths_of(share) == std::vector<std::uint64_t>{7});
  CHECK(engine.progress(0).done == 2);
  const auto later = starts_of(engine.apply(answer_to(share[0]), Time{}));
  REQUIRE(later.size() == 1);
  CHECK(engine.progress(0).done == 9);  // it is ahead of a run, and counts with all its pieces
  // A run that fails is told with its pieces, and is made again as it was.
  const auto actions = engine.apply(
      CallFailed{.call = next[0].call, .outcome = "worker_lost", .message = "gone"}, Time{});
  const auto* failed = std::get_if<AttemptFailed>(actions.data());
  REQUIRE(failed != nullptr);
  CHECK(failed->part == "pieces 3 to 32 of 100");
  (void)engine.apply(Tick{}, std::chrono::seconds(1));
  const auto again = starts_of(engine.apply(answer_to(later[0]), std::chrono::seconds(1)));
  REQUIRE(again.size() == 1);
  CHECK(again[0].pieces == 30);
  CHECK(again[0].work.index == 2);
}

TEST_CASE("what is said of a map's pieces counts also where the node names its device") {
  Plan plan = in_runs("optimise: [granularity]\n");
  plan.nodes[0].constraints.device = "gpu";
  auto engine = Engine::start(plan, {value("span<u64>", list_to(100))}, {.window = 2}).value();
  (void)engine.apply(Decided{.nodes = {{.node = 0, .pieces = 30}}}, Time{});
  const auto starts = starts_of(engine.apply(Tick{}, Time{}));
  CHECK(lengths_of(starts) == std::vector<std::uint64_t>{30, 30});
}

TEST_CASE("decisions that cannot be followed change nothing") {
  const Plan plan = in_runs("optimise: [granularity]\n");
  auto engine = Engine::start(plan, {value("span<u64>", list_to(3))}, {.window = 1}).value();
  Platform platform(plan);
  std::mt19937_64 random(3);
  platform.take(engine.apply(Tick{}, Time{}));
  platform.take(engine.apply(
      Decided{.nodes = {{.node = 77, .priority = 1}, {.node = 0, .pieces = ~std::uint64_t{0}}},
              .open_calls = 0},
      Time{}));
  while (engine.outcome() == FlowOutcome::running)
    platform.take(engine.apply(platform.answer(random), Time{}));
  CHECK(outputs_of(plan, engine).at("list") == "[0,2,4]");
}
