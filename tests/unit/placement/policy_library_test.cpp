#include "placement/policy_library.h"

#include "small_cluster.h"

namespace orchid::placement::tests {
namespace {

TEST_CASE("a site's policy comes out of a shared library and decides") {
  auto policy = load_policy(QUIET_HOSTS);
  REQUIRE_MESSAGE(policy.has_value(), policy.error().message);
  CHECK((*policy)->name() == "quiet_hosts");
  SmallCluster cluster({host_named("login1", 2), host_named("hot", 4), host_named("cool", 8)},
                       std::move(*policy));
  REQUIRE(cluster.placement.report_watts(HostId("boot-hot"), 400).has_value());
  REQUIRE(cluster.placement.report_watts(HostId("boot-cool"), 90).has_value());
  CHECK(cluster.place(1) == "cool");  // pack would have taken login1
  REQUIRE(cluster.placement.report_watts(HostId("boot-cool"), 900).has_value());
  CHECK(cluster.place(1) == "hot");
}

TEST_CASE("what a site's policy declines is refused, and the explanation says so") {
  auto policy = load_policy(QUIET_HOSTS);
  REQUIRE(policy.has_value());
  SmallCluster cluster({host_named("login1", 2)}, std::move(*policy));
  CHECK(cluster.place(1).empty());
  CHECK(cluster.last.refusal->message == "no host has room: 1 declined by the policy");
}

TEST_CASE("a library for another version of the ABI is refused by its version") {
  const auto policy = load_policy(OTHER_ABI);
  REQUIRE_FALSE(policy.has_value());
  CHECK(policy.error().code == ErrorCode::bad_configuration);
  CHECK(policy.error().message.find("version 2 of the ABI, this is version 1") !=
        std::string::npos);
}

TEST_CASE("a library that is no policy is refused with what is missing") {
  const auto unfinished = load_policy(NO_SCORE);
  REQUIRE_FALSE(unfinished.has_value());
  CHECK(unfinished.error().message.find("no score function") != std::string::npos);
  const auto missing = load_policy("/nowhere/policy.so");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message.find("/nowhere/policy.so") != std::string::npos);
  const auto relative = load_policy("policy.so");
  REQUIRE_FALSE(relative.has_value());
  CHECK(relative.error().message.find("absolute path") != std::string::npos);
}

}  // namespace
}  // namespace orchid::placement::tests
