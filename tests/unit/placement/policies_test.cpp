#include <set>

#include "small_cluster.h"

namespace orchid::placement::tests {
namespace {

TEST_CASE("pack fills the fullest host that has room") {
  SmallCluster cluster({host_named("large", 8), host_named("small", 4)});
  CHECK(cluster.place(3) == "small");
  CHECK(cluster.place(2) == "large");
  CHECK(cluster.place(1) == "small");
  CHECK(cluster.place(6) == "large");
  CHECK(cluster.place(1).empty());
}

TEST_CASE("spread gives the workers of a lease different hosts") {
  SmallCluster cluster({host_named("a", 64), host_named("b", 4), host_named("c", 4)},
                       make_spread_policy());
  const Decision decision = cluster.placement.open({.tenant = alice, .workers = 3}, start);
  REQUIRE(decision.placed());
  std::set<HostId> hosts;
  for (const Place& place : decision.places) hosts.insert(place.host);
  CHECK(hosts.size() == 3);
}

TEST_CASE("spread takes the host with the most free cores for a single worker") {
  SmallCluster cluster({host_named("a", 6), host_named("b", 8)}, make_spread_policy());
  CHECK(cluster.place(3) == "b");
  CHECK(cluster.place(2) == "a");
  CHECK(cluster.place(1) == "b");
}

TEST_CASE("near takes the preferred hosts in their order, then any") {
  SmallCluster cluster({host_named("a", 2), host_named("b", 4), host_named("c", 8)},
                       make_near_policy());
  const Request request{
      .tenant = alice,
      .worker = {.alternatives = {{.cores = 4}},
                 .near = {HostId("boot-c"), HostId("boot-gone"), HostId("boot-b")}}};
  CHECK(cluster.place(request) == "c");
  CHECK(cluster.place(request) == "c");
  CHECK(cluster.place(request) == "b");
  CHECK(cluster.place(request).empty());
  CHECK(cluster.place({.tenant = alice, .worker = {.near = {HostId("boot-b")}}}) == "a");
}

TEST_CASE("energy takes the host that draws least, and those that tell nothing last") {
  SmallCluster cluster({host_named("silent", 2), host_named("hot", 2), host_named("cool", 2)},
                       make_energy_policy());
  REQUIRE(cluster.placement.report_watts(HostId("boot-hot"), 300).has_value());
  REQUIRE(cluster.placement.report_watts(HostId("boot-cool"), 80).has_value());
  CHECK(cluster.place(2) == "cool");
  CHECK(cluster.place(2) == "hot");
  CHECK(cluster.place(2) == "silent");
}

TEST_CASE("a bound on a host's power counts the cores that came since its last report") {
  Host host = host_named("n1", 16);
  host.watts_per_core = 10;
  SmallCluster cluster({host}, make_energy_policy());
  const Request request{.tenant = alice,
                        .worker = {.alternatives = {{.cores = 2}}, .watts_at_most = 150}};
  CHECK(cluster.place(request).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 power unknown");
  REQUIRE(cluster.placement.report_watts(HostId("boot-n1"), 100).has_value());
  CHECK(cluster.place(request) == "n1");  // 120 W then
  CHECK(cluster.place(request) == "n1");  // 140 W
  CHECK(cluster.place(request).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 draws too much power");
  CHECK(cluster.placement.host(HostId("boot-n1"))->watts == doctest::Approx(140));
  REQUIRE(cluster.placement.report_watts(HostId("boot-n1"), 105).has_value());
  CHECK(cluster.place(request) == "n1");
}

TEST_CASE("a host's own power cap holds under every policy") {
  Host host = host_named("n1", 16);
  host.watts_per_core = 10;
  host.watts_at_most = 150;
  SmallCluster cluster({host});
  CHECK(cluster.place(1) == "n1");  // a cap cannot be kept where nothing is told
  REQUIRE(cluster.placement.report_watts(HostId("boot-n1"), 125).has_value());
  CHECK(cluster.place(3).empty());
  CHECK(cluster.place(2) == "n1");
}

TEST_CASE("hosts with free GPUs are kept for those that want GPUs") {
  SmallCluster cluster({with_gpus(host_named("gpu", 4), 1, "h100"), host_named("plain", 8)});
  CHECK(cluster.place(1) == "plain");
  CHECK(cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 1, .gpus = 1}}}}) ==
        "gpu");
  CHECK(cluster.place(1) == "gpu");  // nothing is lost there any more
}

TEST_CASE("one GPU, or else four cores: each worker gets the first that there is") {
  SmallCluster cluster({with_gpus(host_named("gpu", 2), 2, "h100"), host_named("plain", 8)});
  const Decision decision =
      cluster.placement.open({.tenant = alice,
                              .workers = 4,
                              .worker = {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}}}},
                             start);
  REQUIRE(decision.placed());
  REQUIRE(decision.places.size() == 4);
  CHECK(decision.places[0].gpus == CoreSet{0});
  CHECK(decision.places[1].gpus == CoreSet{1});
  CHECK(decision.places[2].alternative == 1);
  CHECK(decision.places[3].cores == CoreSet{4, 5, 6, 7});
  const Explanation why = cluster.placement.explain(decision.id).value();
  REQUIRE(why.tallies.size() == 1);
  CHECK(why.tallies[0].alternative == 0);
}

TEST_CASE("a GPU's model can be asked for") {
  SmallCluster cluster({with_gpus(host_named("old", 4), 2, "a100"),
                        with_gpus(host_named("new", 4), 2, "h100"), host_named("none", 4)});
  const Request request{.tenant = alice,
                        .worker = {.alternatives = {{.cores = 1, .gpus = 2, .gpu_model = "h100"}}}};
  CHECK(cluster.place(request) == "new");
  CHECK(cluster.place(request).empty());
  CHECK(cluster.last.refusal->message ==
        "no host has room: 2 too few GPUs free, 1 wrong GPU model");
}

TEST_CASE("a worker's cores are of one NUMA node where they can be, its GPU's if it has one") {
  Host host = host_named("n1", 8, 2);  // 0-3 and 4-7
  host.gpus = {{.index = 0, .model = "h100", .numa_node = 1}};
  SmallCluster cluster({host});
  CHECK(cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 2, .gpus = 1}}}}) ==
        "n1");
  CHECK(cluster.last.places[0].cores == CoreSet{4, 5});
  CHECK(cluster.place(3) == "n1");
  CHECK(cluster.last.places[0].cores == CoreSet{0, 1, 2});
  CHECK(cluster.place(2) == "n1");  // the node with the fewest that do
  CHECK(cluster.last.places[0].cores == CoreSet{6, 7});
  CHECK(cluster.place(2).empty());
}

TEST_CASE("a GPU of which nobody knows where it is makes no cores better than others") {
  Host host = host_named("n1", 8, 2);  // 0-3 and 4-7
  host.gpus = {{.index = 0, .model = "h100"}};
  SmallCluster cluster({host});
  CHECK(cluster.place(4) == "n1");
  const DecisionId first_node = cluster.last.id;
  CHECK(cluster.place(3) == "n1");
  REQUIRE(cluster.placement.close(first_node, start).has_value());
  CHECK(cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 1, .gpus = 1}}}}) ==
        "n1");
  CHECK(cluster.last.places[0].cores == CoreSet{7});  // of the node with the fewest that do
}

TEST_CASE("a place is found behind any number of others that have nearly enough") {
  SmallCluster cluster({});
  for (int i = 0; i < 400; ++i) {
    Host host = host_named("n" + std::to_string(i), 4);
    host.memory = ByteCount{(40_GiB).value + (i == 123 ? 100 : 0)};  // no index tells these apart
    cluster.add(host);
  }
  const Request request{
      .tenant = alice,
      .worker = {.alternatives = {{.cores = 2, .memory = ByteCount{(40_GiB).value + 100}}}}};
  CHECK(cluster.place(request) == "n123");
  CHECK(cluster.place(request).empty());
  const Explanation why = cluster.placement.explain(cluster.last.id).value();
  std::size_t counted = 0;
  for (const ReasonCount& count : why.tallies.at(0).counts) counted += count.grants;
  CHECK(counted == 400);
}

TEST_CASE("policies are found by name") {
  for (const char* name : {"pack", "spread", "near", "energy"})
    CHECK(make_policy(name).value()->name() == name);
  CHECK(make_policy("best").error().code == ErrorCode::not_found);
}

}  // namespace
}  // namespace orchid::placement::tests
