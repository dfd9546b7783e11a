// Which clusters a broker knows, and what it says of the others.
#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broker_world.h"
#include "leases/worker_broker.h"

namespace orchid::gateway {
namespace {

using std::chrono::seconds;

TEST_CASE("a cluster is known by its source, or by a host that is in it") {
  struct Sources final : HostKnowledge {
    std::optional<std::set<std::string>> names{};
    [[nodiscard]] std::optional<HostFacts> facts_of(
        const std::vector<const Executor*>& /*executors*/) const override {
      return std::nullopt;
    }
    [[nodiscard]] std::optional<std::set<std::string>> cluster_names() const override {
      return names;
    }
  } sources;
  World world({.epoch = 1, .boot_id = "here", .remote_dispatch = true}, {.knowledge = &sources});
  CHECK(world.broker.check_cluster("moss"));  // a source has not spoken yet
  sources.names = {"fern"};
  CHECK(world.broker.check_cluster(""));
  CHECK(world.broker.check_cluster("fern"));
  const auto refused = world.broker.check_cluster("moss");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_request);
  CHECK(refused.error().message.find("knows no cluster 'moss', only fern") != std::string::npos);

  const HolderId there(1);
  world.broker.add_dispatcher(there, {}, {.cluster = "fern"});
  world.cluster = "moss";
  world.join(e1, 2);
  CHECK(world.broker.check_cluster("moss"));
  CHECK_FALSE(world.supply[there].exists);
  CHECK(world.supply[there].missing.starts_with(
      "no host of the cluster fern is connected: start a pilot or an executor there"));
  world.cluster = "fern";
  world.join(ExecutorId("e2"), 2, "other", std::nullopt, "10.0.0.2:1");
  CHECK(world.supply[there].exists);
  world.broker.executor_lost(e1, world.now);
  CHECK(world.broker.check_cluster("moss"));  // it may come back
}

TEST_CASE("while hosts may come back, no cluster is unknown") {
  World world({.epoch = 1, .boot_id = "here", .hosts_return_by = MonotonicTime{} + seconds(5)});
  CHECK(world.broker.check_cluster("moss"));
  world.now += seconds(6);
  world.broker.tick(world.now);
  CHECK_FALSE(world.broker.check_cluster("moss"));
}

}  // namespace
}  // namespace orchid::gateway
