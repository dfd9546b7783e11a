// Where a node says that its calls are to run.
#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "flow/document.h"
#include "flow/engine.h"
#include "flow/outlook.h"
#include "flow_under_test.h"

using namespace orchid::flow;

namespace {

std::string flow_with(const std::string& constraints) {
  return "flow: placed\n" + functions_section() +
         "inputs: {n: u64}\n"
         "nodes: {a: {kind: call, function: twice, constraints: " +
         constraints +
         "}}\n"
         "edges: [{from: n, to: a}]\n"
         "outputs: {a: a}\n";
}

}  // namespace

TEST_CASE("constraints: a node's calls have them, and its document keeps them") {
  const std::string text = flow_with("{kind: dpu, device: gpu, cluster: moss}");
  const Plan plan = plan_of(text);
  CHECK(has_constraints(plan));
  CHECK(outlook_of(plan, {}).nodes[0].why == "in the cluster moss; on hosts of kind dpu; on GPUs");
  CHECK(plan.nodes[0].constraints ==
        Constraints{.kind = "dpu", .device = "gpu", .cluster = "moss"});
  Engine engine = Engine::start(plan, {value("u64", "1")}, {}).value();
  unsigned calls = 0;
  for (const Action& action : engine.apply(Tick{}, Time{}))
    if (const auto* start = std::get_if<StartCall>(&action); start != nullptr) {
      ++calls;
      CHECK(start->device == Device::gpu);
    }
  CHECK(calls == 1);
  const Document document = parse_document(text, "f.yaml").document;
  const Document again = parse_document(to_yaml(document), "f.yaml").document;
  CHECK(again.nodes[0].constraints == document.nodes[0].constraints);
}

TEST_CASE("constraints: what does not exist is a fault of its word") {
  const auto faults = faults_of(flow_with("{kind: moon, device: cores, planet: 3}"));
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].find("'kind' of node 'a' must be one of: cpu, gpu, dpu") != std::string::npos);
  CHECK(faults[1].find("planet") != std::string::npos);
}

TEST_CASE("constraints: the name of a cluster is one that a header field can have") {
  for (const std::string wrong : {"\"two words\"", "\"a\\nb\"", "über"}) {
    const auto faults = faults_of(flow_with("{cluster: " + wrong + "}"));
    REQUIRE_MESSAGE(faults.size() == 1, wrong);
    CHECK_MESSAGE(
        faults[0].find("'cluster' of node 'a' must be the name of a cluster") != std::string::npos,
        faults[0]);
  }
  for (const std::string wrong : {"[moss]", "\"\""}) {
    const auto faults = faults_of(flow_with("{cluster: " + wrong + "}"));
    REQUIRE_MESSAGE(faults.size() == 1, wrong);
    CHECK_MESSAGE(faults[0].find("cluster") != std::string::npos, faults[0]);
  }
}

TEST_CASE("constraints: a node that says its device leaves nothing to choose") {
  Plan plan = plan_of(flow_with("{device: cores}"));
  plan.optimisers.push_back({.name = "device", .options = {}});
  plan.needs["twice"] = "1 core, 1 GPU | 4 cores";
  find_choices_of_devices(plan);
  CHECK(plan.nodes[0].cores_of_call == 0);
  // One that says where its hosts are has a choice there.
  for (const Constraints& where :
       {Constraints{.kind = "cpu"}, Constraints{.cluster = "moss"}, Constraints{}}) {
    plan.nodes[0].constraints = where;
    plan.nodes[0].cores_of_call = 0;
    find_choices_of_devices(plan);
    CHECK(plan.nodes[0].cores_of_call == 4);
  }
  CHECK(outlook_of(plan, {}).nodes[0].why == "on a GPU or 4 cores, by trial");
}
