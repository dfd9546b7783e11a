#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "flow/engine.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

Plan map_by(const std::string& function) {
  return plan_of(
      "flow: test\n" + functions_section() +
      "inputs: {n: u64}\n"
      "nodes: {m: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: " +
      function +
      "}, last: {kind: reduce, function: sum}}\n"
      "edges: [{from: n, to: m.n}, {from: m, to: last}]\n"
      "outputs: {r: last}\n");
}

/// Of a map in the middle of its pieces, some of them ahead of others.
std::string in_the_middle(const Plan& plan) {
  auto engine = Engine::start(plan, {value("u64", "20")}, {.window = 8}).value();
  Platform platform(plan);
  std::mt19937_64 random(3);
  platform.take(engine.apply(Tick{}, {}));
  for (int i = 0; i < 12; ++i) platform.take(engine.apply(platform.answer(random), {}));
  return engine.snapshot();
}

}  // namespace

TEST_CASE("finished pieces are not called again after a resume") {
  const Plan plan = map_by("twice");
  auto engine = Engine::resume(plan, in_the_middle(plan), {.run = 1}).value();
  CHECK(engine.progress(0).done == 11);
  CHECK(engine.progress(0).total == 20);
  Platform platform(plan);
  std::mt19937_64 random(4);
  platform.take(engine.apply(Tick{}, {}));
  while (engine.outcome() == FlowOutcome::running)
    platform.take(engine.apply(platform.answer(random), {}));
  CHECK(platform.calls.at("twice") == 9);
  CHECK_FALSE(platform.calls.contains("count"));
  CHECK(outputs_of(plan, engine).at("r") == "420");
}

TEST_CASE("a snapshot is not taken for one of another flow") {
  const auto refused = Engine::resume(map_by("thrice"), in_the_middle(map_by("twice")), {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("of another flow") != std::string::npos);
}

TEST_CASE("a plan whose function takes its ports in another order is another plan") {
  const auto ordered = [](const std::string& takes) {
    return plan_of(
        "flow: test\n" + functions_section() +
        "inputs: {n: u64, a: u64}\n"
        "nodes: {m: {kind: map, takes: [n, a, b], partition: {function: count, takes: [n]}, "
        "each: {function: add_three, takes: [" +
        takes +
        "]}}}\n"
        "edges: [{from: n, to: m.n}, {from: a, to: m.a}, {value: 5, to: m.b}]\n"
        "outputs: {r: m}\n");
  };
  CHECK(ordered("a, b").fingerprint == ordered("a, b").fingerprint);
  CHECK(ordered("a, b").fingerprint != ordered("b, a").fingerprint);
}

TEST_CASE("a damaged snapshot is refused, wherever the damage is") {
  const Plan plan = map_by("twice");
  const std::string good = in_the_middle(plan);
  for (std::size_t at = 0; at < good.size(); at += 3)
    CHECK_FALSE(Engine::resume(plan, good.substr(0, at), {}).has_value());
  using nlohmann::json;
  const json whole = json::parse(good);
  const auto refused = [&](const char* path, const json& wrong) {
    json damaged = whole;
    damaged.at(json::json_pointer(path)) = wrong;
    const auto resumed = Engine::resume(plan, damaged.dump(), {});
    CHECK_FALSE_MESSAGE(resumed.has_value(), path);
  };
  refused("/format", 2);
  refused("/outcome", "fine");
  refused("/inputs", json::array());
  refused("/inputs/0", "AAAA");
  refused("/nodes/0/0", 7);
  refused("/nodes/0/1/state", "waiting");
  refused("/nodes/0/1/about", "AAAA");
  refused("/nodes/0/1/stage", 3);
  refused("/nodes/0/1/total", 21);
  refused("/nodes/0/1/in_order", 20);
  refused("/nodes/0/1/gathered", 1);
  refused("/nodes/0/1/gathered", json::parse(R"([1000000, ""])"));
  refused("/nodes/0/1/ahead", json::parse(R"([[400, "AAAAAAAAAAA="]])"));
  refused("/nodes/0/1/ahead", json::parse(R"([[19, "AAAA"]])"));
}
