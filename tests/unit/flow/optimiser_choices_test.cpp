// `optimise:` of a document: what it may say, and what is told of the rest.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "flow/document.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

std::string optimised(const std::string& list) {
  return "flow: f\noptimise: " + list + "\n" + functions_section() +
         "inputs: {n: u64}\nnodes: {a: {kind: call, function: twice}}\n"
         "edges: [{from: n, to: a}]\noutputs: {r: a}\n";
}

}  // namespace

TEST_CASE("a document names its optimisers with their options, and says so again in one form") {
  const std::string text =
      optimised("[speed, {power: {watts: 120, watts_per_core: 7}}, {./mine.so: {colour: red}}]");
  const Plan plan = plan_of(text);
  REQUIRE(plan.optimisers.size() == 3);
  CHECK(plan.optimisers[0].name == "speed");
  CHECK(plan.optimisers[1].options.at("watts") == "120");
  CHECK(plan.optimisers[2].is_library());
  CHECK(plan.optimisers[2].options.at("colour") == "red");
  const std::string yaml = to_yaml(parse_document(text, "").document);
  CHECK(to_yaml(parse_document(yaml, "").document) == yaml);
  CHECK(yaml.find("{power: {watts: 120, watts_per_core: 7}}") != std::string::npos);
  // What a flow gives is the same with any.
  CHECK(plan.fingerprint == plan_of(optimised("[granularity]")).fingerprint);
}

TEST_CASE("what is no optimiser is told with its place") {
  const auto told = [](const std::string& list, const std::string& wanted) {
    const std::vector<std::string> lines = faults_of(optimised(list));
    REQUIRE_MESSAGE(lines.size() == 1, list);
    CHECK_MESSAGE(lines[0].find(wanted) != std::string::npos, lines[0]);
  };
  told("speed", "f.yaml:2:11: 'optimise' must be a list, such as [speed, granularity]");
  told("[haste]",
       "f.yaml:2:12: there is no optimiser 'haste'; there are: speed, granularity, power");
  told("[speed, speed]", "f.yaml:2:19: optimiser 'speed' is there twice; take one away");
  told("[power]", "optimiser 'power' needs a bound, such as {power: {watts: 120}}");
  told("[{power: {watts: lots}}]", "'watts' must be a whole number from 1 to 1000000");
  told("[{speed: {watts: 3}}]", "optimiser 'speed' has no option 'watts'");
  told("[{speed: {}, granularity: {}}]", "an optimiser with options is written as");
  told("[./a, ./b, ./c, ./d, ./e, ./f, ./g, ./h, ./i]", "a flow has 8 optimisers at most");
}
