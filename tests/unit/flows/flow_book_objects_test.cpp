// How often the objects of a submitted flow are looked at.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <numeric>
#include <string>

#include "flow_process.h"

namespace orchid::flows {

TEST_CASE("objects of nodes that change one after the other are looked at together") {
  std::string document =
      "flow: made\noptimise: [speed]\nfunctions: {make: \"data<f64>(u64)\", look: "
      "\"f64(data<f64>,data<f64>)\"}\ninputs: {n: u64}\nnodes:\n  last: {kind: call, function: "
      "make}\n";
  std::string edges = "{from: n, to: last}";
  std::string outputs;
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    document += "  m" + name + ": {kind: call, function: make}\n  l" + name +
                ": {kind: call, function: look, takes: [x, y]}\n";
    edges += ", {from: n, to: m" + name + "}, {from: m" + name + ", to: l" + name +
             ".x}, {from: last, to: l" + name + ".y}";
    outputs += (i == 0 ? "r" : ", r") + name + ": l" + name;
  }
  document += "edges: [" + edges + "]\noutputs: {" + outputs + "}\n";
  const tests::Scratch folder;
  Process process(folder);
  process.signatures = {{"make", "data<f64>(u64)"}, {"look", "f64(data<f64>,data<f64>)"}};
  process.hosts = {{.name = "a", .kind = "cpu", .cores = 16, .cores_free = 16}};
  const auto answer =
      process.ask({.ask = FlowAsk::submit, .flow = {}, .key = {}}, body_of(document, {{"n", 1}}));
  REQUIRE((answer && !answer->head.failure));
  const FlowCall last = process.calls.open.front();
  process.calls.open.pop_front();
  process.pass(std::chrono::seconds(1));
  const std::size_t before = process.object_looks.size();
  for (int i = 0; i < 30; ++i) {
    process.clock.time += std::chrono::milliseconds(3);
    process.end_one();
  }
  CHECK(process.object_looks.size() <= before + 1);
  process.pass(std::chrono::milliseconds(200));
  process.pass(std::chrono::milliseconds(200));
  CHECK(process.object_looks.size() <= before + 2);
  CHECK(std::accumulate(process.object_looks.begin(), process.object_looks.end(), std::size_t{0}) ==
        30);
  process.end(last);
  process.end_all();
  CHECK(process.state(answer->document.at("id")) == "done");
}

}  // namespace orchid::flows
