#include "placement/explanation.h"

#include <algorithm>

#include "small_cluster.h"

namespace orchid::placement::tests {
namespace {

std::vector<std::string> said(const std::vector<HostReason>& findings) {
  std::vector<std::string> lines;
  for (const HostReason& finding : findings) lines.push_back(to_string(finding));
  std::ranges::sort(lines);
  return lines;
}

TEST_CASE("a host without an image is passed over with what it is and what there is") {
  Host arm = host_named("arm", 8);
  arm.architecture = "aarch64";
  SmallCluster cluster({arm});
  const Request request{.tenant = alice, .worker = {.images = {"x86_64"}}};
  CHECK(said(cluster.placement.consider(request, 0, start)) ==
        std::vector<std::string>{"arm: no image for aarch64; the module has x86-64 (grant g-arm)"});
  CHECK(cluster.place(request).empty());
  CHECK(cluster.last.refusal->message.find("1 no image for its architecture") != std::string::npos);
  CHECK(to_string(request.worker) == "1 core, with an image for x86-64");
  CHECK(no_image_text({"aarch64", "x86_64"}, {"ppc64le", "riscv64"}) ==
        "no image for aarch64 or x86-64; the module has ppc64le and riscv64");
}

TEST_CASE("each host's reason is told with its numbers") {
  SmallCluster cluster({});
  Host arm = host_named("arm", 8);
  arm.architecture = "aarch64";
  cluster.add(arm);
  Host bare = host_named("bare", 8);
  bare.features.clear();
  cluster.add(bare);
  const auto add = [&](const std::string& name, auto change_grant) {
    Host host = host_named(name, 8);
    host.features = {"avx512"};
    REQUIRE(cluster.placement.put_host(host, start).has_value());
    Grant grant = whole(host, "g-" + name);
    change_grant(grant);
    REQUIRE(cluster.placement.put_grant(std::move(grant), start).has_value());
  };
  add("short", [](Grant& grant) { grant.until = start + seconds(40); });
  add("private", [](Grant& grant) {
    grant.users = GrantUsers::owner_only;
    grant.owner = bob;
  });
  add("busy", [](Grant& grant) { grant.cores = {0, 1, 2}; });
  add("lean", [](Grant& grant) { grant.memory = 1_GiB; });
  add("drained", [](Grant&) {});
  (void)cluster.placement.apply(
      std::vector<HostAllocation>{{.host = HostId("boot-drained"), .drained = true, .jobs = {}}},
      start);
  add("away", [](Grant&) {});
  REQUIRE(cluster.placement.lose_host(HostId("boot-away")).has_value());
  REQUIRE(cluster.placement.put_host(host_named("empty", 8), start).has_value());

  const Request request{.tenant = alice,
                        .worker = {.alternatives = {{.cores = 4, .memory = 2_GiB}},
                                   .architecture = "x86_64",
                                   .features = {"avx512"},
                                   .lifetime = seconds(60)}};
  CHECK(said(cluster.placement.consider(request, 0, start)) ==
        std::vector<std::string>{
            "arm: wrong architecture: aarch64 (grant g-arm)",
            "away: host does not answer (grant g-away)",
            "bare: lacks a feature (grant g-bare)",
            "busy: too few cores free: 3 of 3 cores free, wanted 4 (grant g-busy)",
            "drained: drained (grant g-drained)",
            "empty: nothing granted",
            "lean: too little memory free: 1 GiB of 1 GiB free, wanted 2 GiB (grant g-lean)",
            "private: owner only (grant g-private)",
            "short: grant ends too soon: 40 s left, wanted 60 s (grant g-short)",
        });

  CHECK(cluster.place(request).empty());
  const Explanation why = cluster.placement.explain(cluster.last.id).value();
  REQUIRE(why.tallies.size() == 1);
  std::size_t counted = 0;
  for (const ReasonCount& count : why.tallies[0].counts) counted += count.grants;
  CHECK(counted == 9);
  CHECK(why.tallies[0].examples.size() == 9);  // each one's reason
  const std::string text = to_string(why);
  CAPTURE(text);
  CHECK(text.find("not busy: too few cores free: 3 of 3 cores free, wanted 4") !=
        std::string::npos);
  CHECK(text.find("refused: no host has room: ") != std::string::npos);
}

TEST_CASE("a placed lease says where it went and what it found there") {
  SmallCluster cluster({host_named("n1", 8)});
  CHECK(cluster.place(2) == "n1");
  CHECK(cluster.place(3) == "n1");
  const Explanation why = cluster.placement.explain(cluster.last.id).value();
  CHECK(why.policy == "pack");
  CHECK(why.places == cluster.last.places);
  REQUIRE(why.chosen.size() == 1);
  CHECK(to_string(why.chosen[0]) == "n1: 6 of 8 cores free, wanted 3 (grant g-n1)");
}

TEST_CASE("of few hosts each one's reason is kept, of many one for each reason") {
  const auto examples_with = [](int hosts) {
    std::vector<Host> small;
    for (int i = 0; i < hosts; ++i) small.push_back(host_named("n" + std::to_string(i), 2));
    SmallCluster cluster(std::move(small));
    CHECK(cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 4}}}}).empty());
    return cluster.placement.explain(cluster.last.id)->tallies.at(0).examples;
  };
  const auto all = examples_with(32);
  CHECK(all.size() == 32);
  for (const HostReason& one : all) CHECK(one.reason == Reason::too_few_cores);
  CHECK(examples_with(33).size() == 1);
}

TEST_CASE("of what is over, only the newest decisions are remembered") {
  Placement placement(make_pack_policy(), {.remembered_decisions = 2});
  const DecisionId first = placement.open({.tenant = alice}, start).id;
  CHECK(placement.explain(first)->refusal->message == "no host has room: no host is known");
  const DecisionId second = placement.open({.tenant = alice}, start).id;
  (void)placement.open({.tenant = alice}, start);
  CHECK(placement.explain(first).error().code == ErrorCode::not_found);
  CHECK(placement.explain(second).has_value());
}

TEST_CASE(
    "why a lease is where it is can be told as long as it is open, whatever is decided then") {
  Placement placement(make_pack_policy(), {.remembered_decisions = 2});
  const Host host = host_named("n1", 2);
  REQUIRE(placement.put_host(host, start).has_value());
  REQUIRE(placement.put_grant(whole(host, "g-n1"), start).has_value());
  const DecisionId lasting = placement.open({.tenant = alice}, start).id;
  const DecisionId ending = placement.open({.tenant = alice}, start).id;
  for (int i = 0; i < 5; ++i) CHECK_FALSE(placement.open({.tenant = alice}, start).placed());
  CHECK(placement.explain(lasting)->places.size() == 1);
  REQUIRE(placement.close(ending, start).has_value());
  CHECK(placement.explain(ending).has_value());  // now one of the newest that are over
  for (int i = 0; i < 2; ++i) CHECK(placement.open({.tenant = alice}, start).placed() == (i == 0));
  CHECK_FALSE(placement.open({.tenant = alice}, start).placed());
  CHECK_FALSE(placement.remembers(ending));
  CHECK(placement.remembers(lasting));
  // With the grant all its leases are closed.
  REQUIRE(placement.remove_grant(GrantId("g-n1"), start).has_value());
  for (int i = 0; i < 2; ++i) CHECK_FALSE(placement.open({.tenant = alice}, start).placed());
  CHECK_FALSE(placement.remembers(lasting));
}

TEST_CASE("of more leases than it has room for, the newest count as over") {
  Placement placement(make_pack_policy(), {.remembered_leases = 1, .remembered_decisions = 1});
  const Host host = host_named("n1", 3);
  REQUIRE(placement.put_host(host, start).has_value());
  REQUIRE(placement.put_grant(whole(host, "g-n1"), start).has_value());
  const DecisionId first = placement.open({.tenant = alice}, start).id;
  const DecisionId second = placement.open({.tenant = alice}, start).id;
  const DecisionId third = placement.open({.tenant = alice}, start).id;
  CHECK(placement.remembers(first));
  CHECK_FALSE(placement.remembers(second));
  CHECK(placement.remembers(third));
  REQUIRE(placement.close(second, start).has_value());
  CHECK(placement.remembers(third));
}

TEST_CASE("of a host that is to be avoided and has room that is said") {
  SmallCluster cluster({host_named("n1", 2), host_named("n2", 8)});
  const Request request{.worker = {.alternatives = {{.cores = 4}}, .avoid_host = {"n1", "n2"}}};
  CHECK(said(cluster.placement.consider(request, 0, start)) ==
        std::vector<std::string>{
            "n1: too few cores free: 2 of 2 cores free, wanted 4 (grant g-n1)",
            "n2: avoided by the request (grant g-n2)",
        });
}

TEST_CASE("with a named host, only that one is explained") {
  SmallCluster cluster({host_named("n1", 2), host_named("n2", 8)});
  const Request request{.tenant = alice, .worker = {.alternatives = {{.cores = 4}}, .host = "n1"}};
  CHECK(cluster.place(request).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 another host, 1 too few cores free");
  CHECK(cluster.place({.tenant = alice, .worker = {.host = "n3"}}).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 2 another host");
}

}  // namespace
}  // namespace orchid::placement::tests
