#include "placement/tenants.h"

#include "small_cluster.h"

namespace orchid::placement::tests {
namespace {

constexpr TenantId carol{1002};

TEST_CASE("a quota of cores, GPUs or leases holds, and the message counts") {
  SmallCluster cluster({with_gpus(host_named("n1", 16), 4, "h100")});
  cluster.placement.set_terms(alice, {.quota = {.cores = 4, .gpus = 1, .leases = 3}});
  CHECK(cluster.place(3) == "n1");
  CHECK(cluster.place(2).empty());
  CHECK(cluster.last.refusal->code == ErrorCode::quota);
  CHECK(cluster.last.refusal->message == "the tenant's quota: cores: 3 of 4 used, wanted 2");
  CHECK(cluster.place({.tenant = alice, .worker = {.alternatives = {{.cores = 1, .gpus = 2}}}})
            .empty());
  CHECK(cluster.last.refusal->message == "the tenant's quota: GPUs: 0 of 1 used, wanted 2");
  CHECK(cluster.place(16, bob).empty());  // no quota, but no room
  CHECK(cluster.last.refusal->code == ErrorCode::no_capacity);
  CHECK(cluster.place(13, bob) == "n1");
  REQUIRE(cluster.placement.close(cluster.last.id, start).has_value());
  CHECK(cluster.place(1) == "n1");
  cluster.placement.set_terms(alice, {.quota = {.leases = 2}});
  CHECK(cluster.place(1).empty());
  CHECK(cluster.last.refusal->message == "the tenant's quota: leases: 2 of 2 used, wanted 1");
}

TEST_CASE("what a lease gives back, or loses, is off the quota") {
  SmallCluster cluster({host_named("n1", 8)});
  cluster.placement.set_terms(alice, {.quota = {.cores = 4}});
  CHECK(cluster.place(4) == "n1");
  REQUIRE(cluster.placement.close(cluster.last.id, start).has_value());
  CHECK(cluster.place(4) == "n1");
  REQUIRE(cluster.placement.remove_grant(GrantId("g-n1"), start)->size() == 1);
  CHECK(cluster.placement.tenants().use(alice) == TenantUse{});
}

TEST_CASE("a quota may leave an alternative, and a part of the workers") {
  SmallCluster cluster({with_gpus(host_named("n1", 16), 4, "h100")});
  cluster.placement.set_terms(alice, {.quota = {.cores = 6, .gpus = 1}});
  const Decision decision =
      cluster.placement.open({.tenant = alice,
                              .workers = 4,
                              .at_least = 1,
                              .worker = {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 2}}}},
                             start);
  REQUIRE(decision.placed());
  REQUIRE(decision.places.size() == 3);
  CHECK(decision.places[0].alternative == 0);
  CHECK(decision.places[1].alternative == 1);
  CHECK(cluster.placement.tenants().use(alice) == TenantUse{.cores = 5, .gpus = 1, .leases = 1});
}

TEST_CASE("a quota speaks only where every alternative is beyond it") {
  SmallCluster cluster({with_gpus(host_named("n1", 4), 1, "h100")});
  cluster.placement.set_terms(alice, {.quota = {.gpus = 0}});
  const Request either{.tenant = alice,
                       .worker = {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}}}};
  REQUIRE(cluster.place(1, bob) == "n1");
  CHECK(cluster.place(either).empty());
  CHECK(cluster.last.refusal->code == ErrorCode::no_capacity);
  REQUIRE_FALSE(cluster.last.refusal->message.empty());
  cluster.placement.set_terms(alice, {.quota = {.cores = 2, .gpus = 0}});
  CHECK(cluster.place(either).empty());
  CHECK(cluster.last.refusal->code == ErrorCode::quota);
}

TEST_CASE("the next core is due to who has the least for its weight") {
  Tenants tenants{milliseconds(0)};
  tenants.set_terms(bob, {.weight = 2});
  const std::vector<TenantId> waiting{alice, bob, carol};
  std::vector<TenantUse> got(3);
  for (int core = 0; core < 40; ++core) {
    const TenantId next = tenants.next(waiting, start).value();
    tenants.take(next, {.cores = 1}, start);
    ++got[next.value() - alice.value()].cores;
  }
  CHECK(got[0].cores == 10);
  CHECK(got[1].cores == 20);
  CHECK(got[2].cores == 10);
  CHECK_FALSE(tenants.next({}, start).has_value());
}

TEST_CASE("among equals, who was served longest ago is next") {
  Tenants tenants{milliseconds(0)};
  const std::vector<TenantId> waiting{alice, bob};
  tenants.take(alice, {.cores = 1}, start);
  tenants.take(bob, {.cores = 1}, start);
  CHECK(tenants.next(waiting, start) == alice);
  tenants.take(alice, {.cores = 1}, start);
  tenants.release(alice, {.cores = 1}, start);
  CHECK(tenants.next(waiting, start) == bob);
}

TEST_CASE("with a half-life, past use counts less and less") {
  Tenants tenants{seconds(10)};
  tenants.take(alice, {.cores = 8}, start);
  tenants.release(alice, {.cores = 8}, start + seconds(60));
  CHECK(tenants.share(alice, start + seconds(60)) == doctest::Approx(8).epsilon(0.05));
  CHECK(tenants.share(alice, start + seconds(70)) == doctest::Approx(4).epsilon(0.05));
  const std::vector<TenantId> waiting{alice, bob};
  tenants.take(bob, {.cores = 1}, start + seconds(70));
  CHECK(tenants.next(waiting, start + seconds(70)) == bob);
  CHECK(tenants.next(waiting, start + seconds(200)) == alice);
}

}  // namespace
}  // namespace orchid::placement::tests
