// What `orchid pilot keep` makes of the gateway's hosts and Slurm's queue.
#include "situation.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace orchid::pilot {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime now{seconds(1'000)};

json hosts_with(json hosts, json clusters, unsigned wanted = 0) {
  return {{"hosts", std::move(hosts)},
          {"clusters", std::move(clusters)},
          {"demand", {{"cores_wanted", wanted}}}};
}

/// What is made of such a document, which must be one.
Situation situation_in(const json& hosts, const std::vector<PilotJob>& jobs,
                       const PilotDestination& destination) {
  auto situation = situation_of(hosts.dump(), jobs, destination, now);
  REQUIRE_MESSAGE(situation.has_value(), situation.error().message);
  return std::move(*situation);
}

json executor(const char* source, std::uint64_t job, unsigned leased) {
  return {{"state", "connected"},
          {"cores", {0, 1, 2}},
          {"cores_leased", leased},
          {"grant", {{"source", source}, {"job", job}, {"ends_in_ms", 90'000}}}};
}

json node(const char* name, unsigned free, const char* state = "usable") {
  return {
      {"name", name}, {"state", state}, {"cores_free", free}, {"partitions", {"idle", "batch"}}};
}

TEST_CASE("a pilot has joined when an executor of its job is there, and is used as that says") {
  const json hosts =
      hosts_with(json::array({{{"executors", {executor("pilot", 7, 2), executor("local", 0, 3)}}}}),
                 json::array(), 5);
  const auto situation = situation_in(
      hosts,
      {{.job = 7, .state = "RUNNING", .cpus = 4, .left = "8:37", .reason = "n1"},
       {.job = 8, .state = "PENDING", .cpus = 16, .left = "10:00", .reason = "(Resources)"},
       {.job = 9, .state = "RUNNING", .cpus = 2, .left = "1:00", .reason = "n2"}},
      {});
  REQUIRE(situation.demand.size() == 1);  // an older gateway tells only the cores
  CHECK(situation.demand[0].workers == 5);
  CHECK(situation.demand[0].worker.alternatives ==
        std::vector<placement::WorkerShape>{{.cores = 1}});
  REQUIRE(situation.pilots.size() == 3);
  const auto& joined = situation.pilots[0];
  CHECK(joined.joined);
  CHECK(joined.runs);
  CHECK(joined.cores == 3);  // as its executor says
  CHECK(joined.cores_used == 2);
  CHECK(joined.ends == now + seconds(90));
  CHECK(joined.node == "n1");
  CHECK_FALSE(situation.pilots[1].runs);
  CHECK_FALSE(situation.pilots[1].ends.has_value());
  CHECK(situation.pilots[1].node.empty());
  CHECK_FALSE(situation.pilots[2].joined);
  CHECK(situation.pilots[2].ends == now + seconds(60));
  CHECK_FALSE(situation.holes.has_value());  // nobody tells what is free
}

TEST_CASE("of a gateway with several clusters pilots look at their own") {
  json of_fern = executor("pilot", 7, 2);
  json of_moss = executor("pilot", 8, 1);
  of_fern["grant"]["cluster"] = "fern";
  of_moss["grant"]["cluster"] = "moss";
  json hosts = hosts_with(json::array({{{"executors", {of_fern, of_moss}}}}), json::array());
  const auto row = [](const char* cluster, unsigned workers) {
    return json{{"workers", workers},
                {"alternatives", {{{"cores", 1}}}},
                {"constraints", {{"cluster", cluster}}},
                {"lifetime_ms", 0}};
  };
  hosts["demand"]["wanted"] = {row("fern", 1), row("moss", 2), row("", 4)};
  const auto situation =
      situation_in(hosts,
                   {{.job = 7, .state = "RUNNING", .cpus = 3, .left = "8:37", .reason = "n1"},
                    {.job = 8, .state = "RUNNING", .cpus = 3, .left = "8:37", .reason = "n2"}},
                   {.cluster = "fern"});
  REQUIRE(situation.pilots.size() == 2);
  CHECK(situation.pilots[0].joined);
  CHECK_FALSE(situation.pilots[1].joined);  // that is job 8 of the other cluster
  REQUIRE(situation.demand.size() == 2);
  CHECK(situation.demand[0].workers == 1);
  CHECK(situation.demand[0].worker.cluster.empty());
  CHECK(situation.demand[1].workers == 4);
}

TEST_CASE("a pilot that has ended is gone, though its node is being cleared still") {
  const json hosts =
      hosts_with(json::array({{{"executors", {executor("pilot", 7, 2)}}}}), json::array());
  const auto situation =
      situation_in(hosts,
                   {{.job = 7, .state = "COMPLETING", .cpus = 4, .left = "8:37", .reason = "n1"},
                    {.job = 8, .state = "SUSPENDED", .cpus = 4, .left = "8:37", .reason = "n2"},
                    {.job = 9, .state = "CONFIGURING", .cpus = 4, .left = "8:37", .reason = "n3"},
                    {.job = 10, .state = "RUNNING", .cpus = 4, .left = "8:37", .reason = "n4"}},
                   {});
  REQUIRE(situation.pilots.size() == 3);
  CHECK(situation.pilots[0].job == 8);
  CHECK((situation.pilots[0].runs && situation.pilots[0].suspended));
  CHECK((situation.pilots[1].runs && situation.pilots[1].configuring));
  CHECK_FALSE((situation.pilots[2].suspended || situation.pilots[2].configuring));
}

TEST_CASE("a pilot asks for threads where cores have several") {
  json wide = node("n1", 4);
  wide["cores"] = 6;
  wide["threads_per_core"] = 2;
  wide["forecast"] = json::array(
      {{{"from_s", 0}, {"until_s", 300}, {"cores", 4}}, {{"from_s", 300}, {"cores", 1}}});
  const json clusters = json::array({{{"state", "current"}, {"nodes", {wide}}}});
  const auto situation =
      situation_in(hosts_with(json::array(), clusters), {}, {.partitions = {"idle"}});
  REQUIRE((situation.holes && situation.nodes));
  REQUIRE(situation.holes->size() == 2);
  CHECK(situation.holes->at(0).cores == 8);
  CHECK(situation.holes->at(1).cores == 2);
  CHECK(situation.nodes->at(0).cores == 12);
}

TEST_CASE("pilots go to the cluster that sbatch reaches, whatever else is known") {
  const json clusters =
      json::array({{{"cluster", "hpc1"}, {"state", "current"}, {"nodes", {node("n1", 4)}}},
                   {{"cluster", "clouds"}, {"state", "current"}, {"nodes", {node("c1", 64)}}}});
  const json hosts = hosts_with(json::array(), clusters);
  const auto situation = situation_in(hosts, {}, {.cluster = "hpc1"});
  REQUIRE((situation.holes && situation.nodes));
  REQUIRE(situation.holes->size() == 1);
  CHECK(situation.holes->at(0).node == "n1");
  CHECK(situation.nodes->size() == 1);
  CHECK_FALSE(situation_in(hosts, {}, {.cluster = "hpc2"}).holes.has_value());
  CHECK(situation_in(hosts, {}, {}).holes->size() == 2);
}

TEST_CASE("holes are what usable nodes of the partition have free, for as long as it stays so") {
  json ending = node("n2", 4);
  ending["forecast"] = json::array(
      {{{"from_s", 0}, {"until_s", 300}, {"cores", 3}}, {{"from_s", 300}, {"cores", 1}}});
  json elsewhere = node("n3", 8);
  elsewhere["partitions"] = {"gpu"};
  const json clusters = json::array(
      {{{"state", "current"},
        {"nodes", {node("n1", 2), ending, elsewhere, node("n4", 4, "unusable"), node("n5", 0)}}}});
  const auto situation =
      situation_in(hosts_with(json::array(), clusters), {}, {.partitions = {"idle"}});
  REQUIRE(situation.holes.has_value());
  REQUIRE(situation.holes->size() == 3);
  CHECK(situation.holes->at(0).node == "n1");
  CHECK(situation.holes->at(0).cores == 2);
  CHECK_FALSE(situation.holes->at(0).lasts.has_value());
  CHECK(situation.holes->at(1).cores == 4);
  CHECK(situation.holes->at(1).lasts == seconds(300));
  CHECK(situation.holes->at(2).cores == 1);  // of it stays longer
  CHECK_FALSE(situation.holes->at(2).lasts.has_value());
  CHECK(situation_in(hosts_with(json::array(), clusters), {}, {}).holes->size() == 4);
}

TEST_CASE("what is wanted is told with what it needs") {
  json hosts = hosts_with(json::array(), json::array());
  hosts["demand"]["wanted"] =
      json::array({{{"workers", 2},
                    {"alternatives",
                     {{{"cores", 1}, {"memory_bytes", 1 << 30}, {"gpus", 1}, {"gpu_model", "a100"}},
                      {{"cores", 4}, {"memory_bytes", 1 << 30}, {"gpus", 0}, {"gpu_model", ""}}}},
                    {"constraints",
                     {{"host", ""},
                      {"avoid_host", {"n3"}},
                      {"architecture", ""},
                      {"images", {"aarch64"}},
                      {"kind", "gpu"},
                      {"features", {"fast"}}}},
                    {"lifetime_ms", 1'500}}});
  const auto situation = situation_in(hosts, {}, {});
  REQUIRE(situation.demand.size() == 1);
  const placement::WorkerDemand& row = situation.demand[0];
  CHECK(row.workers == 2);
  REQUIRE(row.worker.alternatives.size() == 2);
  CHECK(row.worker.alternatives[0] ==
        placement::WorkerShape{.cores = 1, .memory = 1_GiB, .gpus = 1, .gpu_model = "a100"});
  CHECK(row.worker.alternatives[1].cores == 4);
  CHECK(row.worker.kind == placement::HostKind::gpu);
  CHECK(row.worker.features == std::vector<std::string>{"fast"});
  CHECK(row.worker.host.empty());
  CHECK(row.worker.avoid_host == std::vector<std::string>{"n3"});
  CHECK(row.worker.architecture.empty());
  CHECK(row.worker.images == std::vector<std::string>{"aarch64"});
  CHECK(row.worker.lifetime == milliseconds(1'500));
}

TEST_CASE("nodes and holes have memory and GPUs, and a pilot what its executor says") {
  json big = node("n1", 2);
  big["cores"] = 8;
  big["kind"] = "gpu";
  big["features"] = {"fast"};
  big["memory_bytes"] = std::uint64_t{8} << 30;
  big["memory_free_bytes"] = std::uint64_t{3} << 30;
  big["gpus"] = {{{"index", 0}, {"type", "a100"}}, {{"index", 1}, {"type", "a100"}}};
  big["gpus_free"] = 1;
  json one = executor("pilot", 7, 2);
  one["memory_bytes"] = std::uint64_t{4} << 30;
  one["memory_leased_bytes"] = std::uint64_t{2} << 30;
  one["gpus"] = {1};
  one["gpus_leased"] = 1;
  one["widest_worker"] = 2;
  const json host{{"executors", {one}},
                  {"gpus", {{{"index", 0}, {"model", "v100"}}, {{"index", 1}, {"model", "a100"}}}}};
  const auto situation = situation_in(
      hosts_with(json::array({host}), json::array({{{"state", "current"}, {"nodes", {big}}}})),
      {{.job = 7, .state = "RUNNING", .cpus = 4, .left = "8:37", .reason = "n1"}}, {});
  REQUIRE(situation.nodes.has_value());
  CHECK(situation.nodes->at(0).gpus == std::vector<std::string>{"a100", "a100"});
  CHECK(situation.nodes->at(0).memory == 8_GiB);
  CHECK(situation.nodes->at(0).features == std::vector<std::string>{"fast"});
  CHECK(situation.holes->at(0).memory == 3_GiB);
  CHECK(situation.holes->at(0).gpus == 1);
  const Pilot& pilot = situation.pilots.at(0);
  CHECK(pilot.memory == 4_GiB);
  CHECK(pilot.memory_used == 2_GiB);
  CHECK(pilot.gpus == 1);
  CHECK(pilot.gpus_used == 1);
  CHECK(pilot.gpu_model == "a100");
  CHECK(pilot.widest_worker == 2);
}

TEST_CASE("what a source that is not current has told is no hole") {
  const json stale = json::array({{{"state", "stale"}, {"nodes", {node("n1", 2)}}}});
  CHECK_FALSE(situation_in(hosts_with(json::array(), stale), {}, {}).holes.has_value());
}

TEST_CASE("what is no answer of a gateway is told with the field that is wrong") {
  const auto fault = [](const json& hosts) {
    const auto situation = situation_of(hosts.dump(), {}, {}, now);
    return situation ? "none" : situation.error().message;
  };
  CHECK(fault(json::array()) == "the gateway's answer to /v1/hosts must be a JSON object");
  CHECK(fault({{"hosts", json::array()}}) == "'demand' must be an object");
  json hosts = hosts_with(json::array({{{"executors", {executor("pilot", 7, 2)}}}}), json::array());
  CHECK(fault(hosts) == "none");
  hosts["hosts"][0]["executors"][0]["cores"] = 3;
  CHECK(fault(hosts) == "'hosts[0].executors[0].cores' must be a list of whole numbers");
}

}  // namespace
}  // namespace orchid::pilot
