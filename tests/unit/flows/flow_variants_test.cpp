// What submitted flows learn of variants, for those after them.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "flow_process.h"

namespace orchid::flows {

TEST_CASE("a flow's variants hold after a restart, and the next flow begins with the fastest") {
  const std::string document = "flow: tried\noptimise: [grid]\n" + flow::functions_section() +
                               "inputs: {n: u64}\n"
                               "nodes: {work: {kind: map, takes: [n], partition: {function: count, "
                               "takes: [n]}, each: twice, variants: [twice_a, twice_b]}}\n"
                               "edges: [{from: n, to: work}]\noutputs: {all: work}\n";
  const tests::Scratch folder;
  const auto submit = [&](Process& process) -> std::string {
    return process
        .ask({.ask = FlowAsk::submit, .flow = {}, .key = {}}, body_of(document, {{"n", 60}}))
        ->document.at("id");
  };
  const auto end_one = [](Process& process) {
    const FlowCall call = process.calls.open.front();
    process.calls.open.pop_front();
    process.end(call, std::chrono::microseconds(call.function.starts_with("twice_b@") ? 10 : 40));
    return call;
  };
  std::string id;
  std::map<std::uint64_t, std::string> functions;  // by the number of the call
  {
    Process killed(folder);
    id = submit(killed);
    for (int ended = 0; ended < 9; ++ended) end_one(killed);
    for (const FlowCall& call : killed.calls.open) functions.emplace(call.number, call.function);
  }
  Process process(folder);
  for (const FlowCall& call : process.calls.open) CHECK(functions.at(call.number) == call.function);
  CHECK(process.calls.open.size() == functions.size());
  while (!process.calls.open.empty()) end_one(process);
  REQUIRE(process.state(id) == "done");
  const std::string next = submit(process);
  end_one(process);  // the partition
  REQUIRE_FALSE(process.calls.open.empty());
  CHECK(std::ranges::all_of(process.calls.open, [](const FlowCall& call) {
    return call.function.starts_with("twice_b@");
  }));
  while (!process.calls.open.empty()) end_one(process);
  CHECK(process.state(next) == "done");
}

}  // namespace orchid::flows
