// Plans as bytes: the same plan comes back, and what is damaged is refused.
#include "flow/plan_bytes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "flow_under_test.h"

namespace orchid::flow {
namespace {

Plan many_kinds() {
  Plan plan = plan_of(four_kinds());
  const auto node = [&](std::string_view name) -> PlannedNode& {
    return *std::ranges::find(plan.nodes, name, &PlannedNode::name);
  };
  node("doubled").deadline = std::chrono::seconds(3);
  node("doubled").window = 4;
  node("total").retry.attempts = 5;
  node("total").retry.back_off = std::chrono::seconds(2);
  node("search").constraints.kind = "cpu";
  plan.optimisers.push_back({.name = "speed", .options = {}});
  return plan;
}

}  // namespace

TEST_CASE("a plan that was written is the same, and runs to the same end") {
  Plan plan = many_kinds();
  plan.exact["sum"] = "sum@0123456789ab";
  plan.needs["sum"] = "4 cores";
  const std::vector<Value> inputs{value("u64", "12"), value("u64", "9")};
  const auto bytes = to_bytes(plan, inputs);
  auto stored = parse_plan_bytes(bytes);
  REQUIRE(stored.has_value());
  CHECK(to_text(stored->plan) == to_text(plan));
  CHECK(stored->plan.fingerprint == plan.fingerprint);
  CHECK(stored->plan.exact == plan.exact);
  CHECK(stored->plan.needs == plan.needs);
  CHECK(stored->plan.optimisers.at(0).name == "speed");
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    CHECK(stored->plan.nodes.at(i).retry == plan.nodes[i].retry);
    CHECK(stored->plan.nodes.at(i).constraints == plan.nodes[i].constraints);
    CHECK(stored->plan.nodes.at(i).deadline == plan.nodes[i].deadline);
    CHECK(stored->plan.nodes.at(i).consumers == plan.nodes[i].consumers);
  }
  CHECK(outputs_of(stored->plan, stored->inputs) == outputs_of(plan, inputs));
  CHECK(to_bytes(stored->plan, stored->inputs) == bytes);
}

TEST_CASE("a plan that is damaged or cut off is refused") {
  const auto bytes = to_bytes(many_kinds(), {value("u64", "12"), value("u64", "9")});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{4};
    CHECK_FALSE(parse_plan_bytes(damaged).has_value());
    CHECK_FALSE(parse_plan_bytes(std::span(bytes).first(i)).has_value());
  }
}

}  // namespace orchid::flow
