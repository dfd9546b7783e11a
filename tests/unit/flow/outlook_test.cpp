#include "flow/outlook.h"

#include <doctest/doctest.h>

#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

Plan plan_from(const std::string& rest) {
  return plan_of("flow: test\n" + functions_section() + rest);
}

}  // namespace

TEST_CASE("nodes of one wave wait for earlier ones only, and the longest way is critical") {
  const Plan plan = plan_from(
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  a: {kind: call, function: twice}\n"
      "  b: {kind: call, function: thrice}\n"
      "  c: {kind: call, function: next, takes: [x, y]}\n"
      "edges: [{from: n, to: a}, {from: n, to: b}, {from: a, to: c.x}, {from: b, to: c.y}]\n"
      "outputs: {r: c}\n");
  const Outlook outlook = outlook_of(
      plan, {.at_once = 4, .seconds = {{"twice", 1}, {"thrice", 3}, {"next", 0.5}}, .inputs = {}});
  CHECK(outlook.waves == 2);
  CHECK(outlook.nodes[0].wave == 0);
  CHECK(outlook.nodes[1].wave == 0);
  CHECK(outlook.nodes[2].wave == 1);
  CHECK_FALSE(outlook.nodes[0].is_critical);
  CHECK(outlook.nodes[1].is_critical);
  CHECK(outlook.nodes[2].is_critical);
  REQUIRE(outlook.seconds.has_value());
  CHECK(*outlook.seconds == doctest::Approx(3.5));
  CHECK_FALSE(outlook.is_least);
}

TEST_CASE("pieces are known where the list is, and groups follow from them") {
  const Plan plan = plan_from(
      "inputs: {list: span<u64>}\n"
      "nodes:\n"
      "  m: {kind: map, each: twice, window: 2}\n"
      "  s: {kind: reduce, function: sum, fan: 4}\n"
      "edges: [{from: list, to: m}, {from: m, to: s}]\n"
      "outputs: {r: s}\n");
  const Outlook known =
      outlook_of(plan, {.at_once = 8,
                        .seconds = {{"twice", 1}, {"sum", 0.25}},
                        .inputs = {value("span<u64>", "[1,2,3,4,5,6,7,8,9,10]")}});
  CHECK(known.nodes[0].calls == 10);
  CHECK(known.nodes[0].at_once == 2);
  CHECK(*known.nodes[0].seconds == doctest::Approx(5));  // two side by side
  CHECK(known.nodes[1].calls == 4);                      // three groups, and one of these
  CHECK(known.nodes[1].why == "10 elements in groups of 4, 2 levels");

  const Outlook unknown = outlook_of(plan, {.at_once = 8, .seconds = {{"twice", 1}}, .inputs = {}});
  CHECK_FALSE(unknown.nodes[0].calls.has_value());
  CHECK(unknown.nodes[0].is_least);
  CHECK(*unknown.nodes[0].seconds == doctest::Approx(1));
  CHECK_FALSE(unknown.nodes[1].seconds.has_value());
  CHECK_FALSE(unknown.seconds.has_value());
}

TEST_CASE("what a function decides while it runs is said, and not guessed") {
  const Plan plan = plan_from(
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  m: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: twice, merge: "
      "sum}\n"
      "  i: {kind: iterate, function: twice, times: 9, until: {function: is_big}}\n"
      "edges: [{from: n, to: m.n}, {from: m, to: i}]\n"
      "outputs: {r: i}\n");
  const Outlook outlook = outlook_of(plan, {});
  CHECK(outlook.nodes[0].why == "as many pieces as count gives");
  CHECK_FALSE(outlook.nodes[0].calls.has_value());
  CHECK(outlook.nodes[1].why == "at most 9 steps");
  CHECK(outlook.nodes[1].at_once == 1);
  CHECK(outlook.is_least);
}

TEST_CASE("a step function says by itself how many batches there are") {
  const Plan plan = plan_of(
      "flow: f\nfunctions: {walk: 'step<u64>(struct<16,8:u64@0,u64@8>,u64)'}\ninputs: {n: u64}\n"
      "nodes:\n"
      "  a: {kind: iterate, function: walk, budget: 2s, times: 7}\n"
      "  b: {kind: iterate, function: walk, steps: 9}\n"
      "edges: [{from: n, to: a}, {from: a, to: b}]\noutputs: {r: b}\n");
  const Outlook outlook = outlook_of(plan, {});
  CHECK_FALSE(outlook.nodes[0].calls.has_value());
  CHECK(outlook.nodes[0].why == "batches of 2s until walk is done, at most 7");
  CHECK(outlook.nodes[1].why == "batches of 9 steps until walk is done");
  CHECK(to_text(plan).find("in batches of 9 steps") != std::string::npos);
}
