#include <doctest/doctest.h>

#include <cstdint>
#include <span>

#include "flow_under_test.h"
#include "orchid/error.h"
#include "orchid/flow.h"

using namespace orchid;

TEST_CASE("a flow that is built in C++ is the document that one would write") {
  Flow built("built");
  built.declare<std::uint64_t(std::uint64_t)>("twice");
  built.declare("sum", "u64(span<u64>)");
  built.declare("count", "span<u64>(u64)");
  built.declare("seven", "string(u64,u64)");
  built.declare("is_big", "bool(u64)");
  const auto n = built.input<std::uint64_t>("n");
  const auto list = built.input<std::span<const std::uint64_t>>("list");
  const auto all = built.map("all", {.each = {"twice"}, .merge = "sum"});
  built.connect(list, all);
  const auto search = built.map("search", {.partition = {"count", {"n"}},
                                           .each = {"seven", {"wanted"}},
                                           .until_found = true,
                                           .takes = {"n", "wanted"}});
  built.connect(n, search.port("n"));
  built.set(search.port("wanted"), "7");
  const auto total = built.reduce("total", {.function = "sum", .fan = 3});
  built.connect(list, total);
  const auto grow = built.iterate("grow", {.function = "twice", .times = 9, .until = "is_big"});
  built.connect(total, grow);
  const auto big = built.call("big", "is_big", {.retry = {.attempts = 5}});
  built.connect(all, big);
  const auto choice = built.choose(
      "choice", {.if_true = "twice", .if_false = "twice", .node = {.takes = {"big", "x"}}});
  built.connect(big, choice.port("big"));
  built.connect(grow, choice.port("x"));
  built.output("choice", choice);
  built.optimise("speed");
  built.optimise("power", R"({"watts": 120})");
  built.output("found", search);

  const flow::Plan plan = flow::plan_of(built.json());
  CHECK(plan.nodes.size() == 6);
  REQUIRE(plan.optimisers.size() == 2);
  CHECK(plan.optimisers[0].name == "speed");
  CHECK(plan.optimisers[1].options.at("watts") == "120");
  const auto outputs =
      flow::outputs_of(plan, {flow::value("u64", "9"), flow::value("span<u64>", "[1,2,3,4,5,6]")});
  CHECK(outputs.at("found") == "\"found 7\"");
  CHECK(outputs.at("choice") == "168");  // 21, doubled until it is above 50, and once more
}

TEST_CASE("batches of a step function, and what is to be durable, are built in C++") {
  Flow built("built");
  built.declare("make", "data<u64>(u64)");
  built.declare("walk", "step<data<u64>>(struct<16,8:u64@0,u64@8>,data<u64>)");
  const auto n = built.input<std::uint64_t>("n");
  const auto made = built.call("made", "make");
  built.connect(n, made);
  const auto walked = built.iterate(
      "walked",
      {.function = "walk", .budget = std::chrono::milliseconds(250), .steps = 9, .durable = 4});
  built.connect(made, walked, {.durable = true});
  built.output("walked", walked);
  const flow::Plan plan = flow::plan_of(built.json());
  CHECK(plan.nodes[0].keeps_value);
  CHECK(plan.nodes[1].is_step);
  CHECK(plan.nodes[1].budget == std::chrono::milliseconds(250));
  CHECK(plan.nodes[1].steps == 9);
  CHECK(plan.nodes[1].durable == 4);
  CHECK(plan.nodes[1].times == flow::no_bound);
}

TEST_CASE("a master, a division and an iteration that ends with a find are built in C++") {
  Flow built("built");
  built.declare("hand", "span<u64>(u64)");
  built.declare("add_three", "u64(u64,u64,u64)");
  built.declare("next", "u64(u64,u64)");
  built.declare("halves", "span<u64>(u64)");
  built.declare("thrice", "u64(u64)");
  built.declare("sum", "u64(span<u64>)");
  built.declare("twice", "u64(u64)");
  const auto n = built.input<std::uint64_t>("n");
  const auto lead = built.master("lead", {.hand_out = {.function = "hand", .takes_no_port = true},
                                          .each = {"add_three", {"more", "rest"}},
                                          .gather = "next",
                                          .node = {.takes = {"start", "more", "rest"}}});
  built.set(lead.port("start"), "0");
  built.set(lead.port("more"), "1");
  built.set(lead.port("rest"), "2");
  const auto parts =
      built.divide("parts", {.divide = "halves", .solve = {"thrice"}, .combine = "sum"});
  built.connect(n, parts);
  const auto grow = built.iterate("grow", {.function = "twice", .times = 9, .until_found = true});
  built.connect(parts, grow);
  built.output("lead", lead);
  built.output("parts", parts);
  built.output("grow", grow);

  const flow::Plan plan = flow::plan_of(built.json());
  const auto outputs = flow::outputs_of(plan, {flow::value("u64", "9")});
  CHECK(outputs.at("lead") == "22");   // 1 to 4, and 3 with each; 22 asks for no more
  CHECK(outputs.at("parts") == "27");  // three times 9, in parts
  CHECK(outputs.at("grow") == "54");   // the first step finds something
}

TEST_CASE("options of an optimiser that are no JSON object are refused at once") {
  Flow flow("f");
  CHECK_THROWS_AS(flow.optimise("power", "120"), Error);
}

TEST_CASE("a node that is to end in two ways is refused at once") {
  Flow flow("f");
  const auto refused = [](auto add) {
    try {
      add();
      FAIL("it was taken");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::bad_request);
      CHECK(std::string(error.what()).find("until = 'large'") != std::string::npos);
    }
  };
  refused([&] {
    flow.iterate("a", {.function = "twice", .times = 9, .until_found = true, .until = "large"});
  });
  refused([&] { flow.map("b", {.each = {"twice"}, .until_found = true, .until = "large"}); });
}

TEST_CASE("a value that is no JSON is refused at once") {
  Flow built("built");
  const auto a = built.call("a", "twice");
  try {
    built.set(a, "seven");
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::bad_request);
  }
}
