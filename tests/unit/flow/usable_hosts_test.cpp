// Nodes that say where their calls are to run: what is planned and decided goes by hosts that they
// may use.
#include "flow/usable_hosts.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flow/decision_text.h"
#include "flow/outlook.h"
#include "flow/tuner.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

constexpr std::uint64_t object_bytes = 1ULL << 30;

/// One host in each of two clusters, and one in none.
std::vector<HostSituation> three_hosts() {
  return {{.name = "n1", .kind = "cpu", .cores = 8, .cores_free = 6, .cluster = "fern"},
          {.name = "n1~2",
           .kind = "gpu",
           .cores = 4,
           .cores_free = 3,
           .gpus_free = 1,
           .cluster = "moss"},
          {.name = "here", .kind = "cpu", .cores = 2, .cores_free = 1}};
}

DataId first_object() {
  DataId id;
  id.bytes[0] = std::byte{1};
  return id;
}

ReadyNode node_in(const std::string& cluster) {
  return {.node = 1,
          .name = "n",
          .kind = NodeKind::map,
          .function = "f",
          .pieces_left = 9,
          .pieces_total = 9,
          .cores_of_call = 1,
          .constraints = {.cluster = cluster},
          .data = {{.id = first_object(), .bytes = object_bytes, .hosts = {"n1"}}}};
}

Situation situation_of(ReadyNode node) {
  Situation situation;
  situation.nodes.push_back(std::move(node));
  situation.hosts = three_hosts();
  situation.window = 20;
  return situation;
}

Decided ask(const Situation& situation, const std::string& name,
            const std::map<std::string, std::string>& options = {}) {
  return make_optimiser({.name = name, .options = options})->decide(situation).value();
}

}  // namespace

TEST_CASE("usable hosts: of the cluster and the kind that a node says") {
  const auto hosts = three_hosts();
  CHECK(free_cores({}, hosts) == 10);
  CHECK(free_cores({.device = "gpu"}, hosts) == 10);
  CHECK(free_cores({.kind = "cpu"}, hosts) == 7);
  CHECK(free_cores({.cluster = "moss"}, hosts) == 3);
  CHECK(free_cores({.kind = "cpu", .cluster = "moss"}, hosts) == 0);
  const auto usable = usable_hosts({.cluster = "fern"}, hosts);
  REQUIRE(usable.size() == 1);
  CHECK(usable[0].name == "n1");
  CHECK_FALSE(chooses_hosts({.device = "cores"}));
}

TEST_CASE("usable hosts: speed brings data to a cluster's host, however near another one is") {
  const auto why = [](const std::string& cluster) {
    return ask(situation_of(node_in(cluster)), "speed").nodes.at(0).why;
  };
  CHECK(why("").ends_with("; its 1 GiB are on n1"));
  CHECK(why("fern").ends_with("; its 1 GiB are on n1"));
  CHECK(why("moss").ends_with("; 1.07 s until 1 GiB are on n1~2"));
  CHECK(why("nowhere") == "speed: 0 s from here to the end of the flow");
  // Nor is a host taken that only its data is known of: it may be in another cluster.
  Situation unknown = situation_of(node_in("moss"));
  unknown.hosts.clear();
  CHECK(ask(unknown, "speed").nodes.at(0).why == "speed: 0 s from here to the end of the flow");
}

TEST_CASE("usable hosts: device counts places in the node's cluster alone") {
  const auto devices = [](const std::string& cluster) {
    return ask(situation_of(node_in(cluster)), "device").nodes.at(0).devices.value();
  };
  CHECK(devices("").cores.calls == 9);
  CHECK(devices("").gpu.calls == 1);
  CHECK(devices("moss").cores.calls == 2);
  CHECK(devices("moss").gpu.calls == 1);
  CHECK(devices("fern").cores.calls == 6);
  CHECK(devices("fern").gpu.calls == 0);
}

TEST_CASE("usable hosts: power counts cores that some node may use") {
  const auto most = [](const Situation& situation) {
    return ask(situation, "power", {{"watts", "1000"}}).open_calls;
  };
  CHECK(most(situation_of(node_in(""))) == 10U);
  Situation situation = situation_of(node_in("moss"));
  CHECK(most(situation) == 3U);
  situation.nodes.push_back(node_in("fern"));
  CHECK(most(situation) == 9U);
  // Calls of a node that has started its last ones are open, too.
  Situation last = situation_of(node_in("moss"));
  last.running = {{.cluster = "moss"}, {.cluster = "fern"}};
  CHECK(most(last) == 9U);
  last.nodes.clear();
  CHECK(most(last) == 9U);
}

TEST_CASE("usable hosts: a situation tells of nodes whose last call runs") {
  const Plan plan = plan_of("flow: both\noptimise: [power: {watts: 1000}]\n" + functions_section() +
                            "inputs: {n: u64}\n"
                            "nodes:\n"
                            "  a: {kind: call, function: twice, constraints: {cluster: fern}}\n"
                            "  b: {kind: call, function: twice, constraints: {cluster: moss}}\n"
                            "edges: [{from: n, to: a}, {from: n, to: b}]\n"
                            "outputs: {a: a, b: b}\n");
  Engine engine = Engine::start(plan, {value("u64", "1")}, {.window = 1}).value();
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  optimisers.push_back(make_optimiser(plan.optimisers.at(0)));
  Tuner tuner(plan, std::move(optimisers));
  tuner.set_hosts(three_hosts());
  for (const Action& action : engine.apply(Tick{}, Time{})) tuner.see(action, Time{});
  const Situation situation = tuner.situation(engine, {.workers = 1, .window = 20});
  REQUIRE(situation.nodes.size() == 1);
  CHECK(situation.nodes[0].name == "b");
  CHECK(situation.running == std::vector<Constraints>{{.cluster = "fern"}, {.cluster = "moss"}});
  const auto decided = tuner.decide(engine, {.workers = 1, .window = 20}, Time{});
  REQUIRE(decided.has_value());
  CHECK(decided->open_calls == 9U);
}

TEST_CASE("usable hosts: a situation's text has clusters, and where nodes may run") {
  Situation situation = situation_of(node_in("moss"));
  situation.nodes[0].constraints.kind = "gpu";
  const Situation again = parse_situation(to_json(situation)).value();
  CHECK(again.nodes.at(0).constraints == situation.nodes[0].constraints);
  CHECK(again.hosts.at(1).cluster == "moss");
  CHECK(again.hosts.at(2).cluster.empty());
}

TEST_CASE("usable hosts: an outlook has no more calls side by side than the cluster has cores") {
  const Plan plan = plan_of(
      "flow: placed\nfunctions: {each: \"u64(u64)\"}\ninputs: {list: span<u64>}\n"
      "nodes:\n"
      "  any: {kind: map, each: each}\n"
      "  moss: {kind: map, each: each, constraints: {cluster: moss}}\n"
      "  gone: {kind: map, each: each, constraints: {cluster: gone}}\n"
      "edges: [{from: list, to: any}, {from: list, to: moss}, {from: list, to: gone}]\n"
      "outputs: {a: any, b: moss, c: gone}\n");
  const Outlook outlook = outlook_of(plan, {.at_once = 8,
                                            .seconds = {{"each", 1}},
                                            .inputs = {value("span<u64>", "[1,2,3,4,5,6]")},
                                            .hosts = three_hosts()});
  CHECK(outlook.nodes[0].at_once == 8);
  CHECK(outlook.nodes[0].seconds.value() == doctest::Approx(1));
  CHECK(outlook.nodes[1].at_once == 3);
  CHECK(outlook.nodes[1].seconds.value() == doctest::Approx(2));
  CHECK(outlook.nodes[1].why == "6 pieces; in the cluster moss; where 3 cores are free");
  CHECK(outlook.nodes[2].at_once == 1);
  CHECK(outlook.nodes[2].why == "6 pieces; in the cluster gone; where no core is free now");
}
