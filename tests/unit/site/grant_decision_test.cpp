#include "site/grant_decision.h"

#include <doctest/doctest.h>

namespace orchid::site {
namespace {

constexpr uid_t alice = 1000;

GrantOffer share(GrantUsers users = GrantUsers::owner) {
  return {.source = GrantSource::share, .job = 17, .users = users};
}
GrantOffer pilot() { return {.source = GrantSource::pilot, .job = 17}; }

Evidence held(CoreList cores) {
  return {.uid = alice,
          .step = {.job = 17, .allowed = std::move(cores), .held_to_cores = true},
          .slurm = {},
          .thread_order = {}};
}
Evidence told(CoreList cores, std::uint32_t count, std::span<const std::uint32_t> order) {
  return {.uid = alice,
          .step = {.job = 17, .allowed = {0, 1, 2, 3}},
          .slurm = JobOnNode{.uid = alice, .cores = std::move(cores), .count = count},
          .thread_order = order};
}

ErrorCode code_of(const auto& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

}  // namespace

TEST_CASE("pilots come from those whom the site names, and are for everybody") {
  SitePolicy policy{.pilots_from = {0}};
  CHECK(code_of(allowed_users(pilot(), alice, policy)) == ErrorCode::denied);
  policy.pilots_from.insert(alice);
  CHECK(allowed_users(pilot(), alice, policy) == GrantUsers::everybody);
}

TEST_CASE("a share is its owner's alone unless both the site and its owner want otherwise") {
  SitePolicy policy;
  CHECK(allowed_users(share(), alice, policy) == GrantUsers::owner);
  CHECK(code_of(allowed_users(share(GrantUsers::everybody), alice, policy)) == ErrorCode::denied);
  policy.shares = SharePolicy::everybody;
  CHECK(allowed_users(share(), alice, policy) == GrantUsers::owner);
  CHECK(allowed_users(share(GrantUsers::everybody), alice, policy) == GrantUsers::everybody);
  policy.shares = SharePolicy::none;
  CHECK(code_of(allowed_users(share(), alice, policy)) == ErrorCode::denied);
  CHECK(parse_share_policy("owner") == SharePolicy::owner);
  CHECK_FALSE(parse_share_policy("all").has_value());
}

TEST_CASE("what is not said is all that the kernel lets the step have") {
  CHECK(allowed_cores(pilot(), held({1, 3}), {}) == CoreList{1, 3});
  GrantOffer offer = pilot();
  offer.cores = {3};
  CHECK(allowed_cores(offer, held({1, 3}), {}) == CoreList{3});
}

TEST_CASE("a job cannot grant what it does not have") {
  GrantOffer offer = pilot();
  offer.cores = {1, 2};
  CHECK(code_of(allowed_cores(offer, held({1, 3}), {})) == ErrorCode::denied);
  CHECK(code_of(allowed_cores(pilot(), held({}), {})) == ErrorCode::denied);
  offer = pilot();
  offer.job = 18;
  CHECK(code_of(allowed_cores(offer, held({1, 3}), {})) == ErrorCode::denied);
}

TEST_CASE("where the kernel holds nobody to cores, Slurm's word counts, and not the binding") {
  const std::vector<std::uint32_t> order{0, 2, 1, 3};  // core by core
  CHECK(allowed_cores(pilot(), told({1}, 4, order), {}) == CoreList{2});
  CHECK(allowed_cores(pilot(), told({1}, 2, order), {}) == CoreList{1, 3});  // whole cores
  CHECK(allowed_cores(pilot(), told({1}, 64, order), {}) == CoreList{1});    // made-up ones
  GrantOffer offer = pilot();
  offer.cores = {3};
  CHECK(code_of(allowed_cores(offer, told({1}, 4, order), {})) == ErrorCode::denied);
}

TEST_CASE("without proof and without Slurm's word there is no grant, nor in another user's job") {
  Evidence evidence = told({1}, 4, {});
  evidence.slurm->uid = alice + 1;
  CHECK(code_of(allowed_cores(pilot(), evidence, {})) == ErrorCode::denied);
  evidence.slurm.reset();
  CHECK_FALSE(allowed_cores(pilot(), evidence, {}).has_value());
}

TEST_CASE("a core is not granted twice, neither by another job nor by this one") {
  const std::vector<StandingGrant> standing{{.job = 9, .cores = {0, 3}}, {.job = 17, .cores = {1}}};
  CHECK(code_of(allowed_cores(pilot(), held({2, 3}), standing)) == ErrorCode::conflict);
  CHECK(code_of(allowed_cores(pilot(), held({1, 2}), standing)) == ErrorCode::conflict);
  CHECK(allowed_cores(pilot(), held({2, 4}), standing) == CoreList{2, 4});
}

}  // namespace orchid::site
