#include "lease/lease_grant.h"

#include <doctest/doctest.h>

#include "foundation/host_addresses.h"

#include <nlohmann/json.hpp>

#include "lease/open_lane.h"

namespace orchid::sdk {
namespace {

using nlohmann::json;

constexpr auto document =
    R"json({"id":"l-3-17","state":"open","wait":"adaptive","cores_per_worker":2,
  "memory_bytes":1048576,"expires_in_ms":60000,"workers":[{"lease":"l-3-18","secret":"aa","executor":"e7","node":"n1",
  "boot_id":"b","lane_socket":"/run/lanes.sock","lane_address":""}]})json";

}  // namespace

TEST_CASE("a lease's document names each worker and how to claim it") {
  const LeaseGrant grant = parse_lease_grant(document);
  CHECK(grant.id == "l-3-17");
  CHECK(grant.cores_per_worker == 2);
  CHECK(grant.memory == 1 << 20);
  CHECK(grant.expires_in == std::chrono::seconds(60));
  REQUIRE(grant.workers.size() == 1);
  CHECK(to_string(grant.workers[0].lease) == "l-3-18");
  CHECK(grant.workers[0].secret == "aa");
  CHECK(grant.workers[0].executor == "e7");
  CHECK(grant.workers[0].node == "n1");
  CHECK(grant.workers[0].boot_id == "b");
  CHECK(grant.workers[0].lane_socket == "/run/lanes.sock");
}

TEST_CASE("what is no lease is told so") {
  for (const char* text : {"", "[]", "{}", R"({"id":"l-1-1"})", R"({"id":3,"workers":[]})",
                           R"({"id":"l-1-1","workers":[{"lease":"nonsense","secret":"a"}]})",
                           R"({"id":"l-1-1","workers":[{"lease":"l-1-2"}]})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_lease_grant(text), Error);
  }
}

TEST_CASE("a request states what is wanted, and leaves out what is not") {
  json request =
      json::parse(lease_request({.workers = 4,
                                 .at_least = 2,
                                 .cores_per_worker = 3,
                                 .memory = 1 << 20,
                                 .wait = Wait::hot,
                                 .duration = std::chrono::seconds(5),
                                 .within = std::chrono::seconds(1),
                                 .constraints = {.host = "n1", .avoid_host = {"n2", "n3"}}},
                                "boot"));
  CHECK(request == json{{"workers", 4},
                        {"at_least", 2},
                        {"cores_per_worker", 3},
                        {"memory_bytes", 1 << 20},
                        {"wait", "hot"},
                        {"duration_ms", 5000},
                        {"within_ms", 1000},
                        {"boot_id", "boot"},
                        {"constraints", {{"host", "n1"}, {"avoid_host", {"n2", "n3"}}}}});
  request = json::parse(lease_request({}, "boot"));
  CHECK(json::parse(lease_request({}, "boot", {"aarch64", "x86_64"}))["constraints"] ==
        json{{"images", {"aarch64", "x86_64"}}});
  CHECK_FALSE(request.contains("at_least"));
  CHECK_FALSE(request.contains("constraints"));
  CHECK_FALSE(request.contains("remote"));
  CHECK_FALSE(request.contains("separate_processes"));
  CHECK(json::parse(lease_request({.separate_processes = true}, "boot"))["separate_processes"] ==
        true);
  CHECK(request["wait"] == "adaptive");
  CHECK(json::parse(renewal_request(std::chrono::seconds(5), {})) == json{{"duration_ms", 5000}});
  CHECK(json::parse(renewal_request(std::chrono::seconds(5), {{1, 2}}))["lost"] ==
        json::array({"l-1-2"}));
}

TEST_CASE("alternatives are asked for in their order, and each worker says what it has") {
  const json request = json::parse(lease_request(
      {.constraints = {.watts_at_most = 300},
       .alternatives = {{.gpus = 1, .gpu_model = "a100"}, {.cores = 4, .memory = 1 << 20}}},
      "boot"));
  CHECK(request["alternatives"] ==
        json::array({{{"cores", 1}, {"memory_bytes", 0}, {"gpus", 1}, {"gpu_model", "a100"}},
                     {{"cores", 4}, {"memory_bytes", 1 << 20}, {"gpus", 0}, {"gpu_model", ""}}}));
  CHECK_FALSE(request.contains("cores_per_worker"));
  CHECK_FALSE(request.contains("memory_bytes"));
  CHECK(request["constraints"]["watts_at_most"] == 300);
  json told = json::parse(document);
  CHECK(parse_lease_grant(document).workers[0].cores == 2);  // as an older gateway says it
  told["workers"][0].update(
      {{"cores", 1}, {"memory_bytes", 1 << 20}, {"gpus", {3}}, {"gpu_model", "a100"}});
  const GrantedWorker worker = parse_lease_grant(told.dump()).workers.at(0);
  CHECK(worker.cores == 1);
  CHECK(worker.memory == 1 << 20);
  CHECK(worker.gpus == std::vector<unsigned>{3});
  CHECK(worker.gpu_model == "a100");
}

TEST_CASE("who wants local lanes asks for no workers of other hosts") {
  CHECK(json::parse(lease_request({.lane = "local"}, "boot"))["remote"] == false);
}

TEST_CASE("the lane is the local one where it leads, unless the other is asked for") {
  const auto lane = [](const GrantedWorker& worker, std::string_view wanted) {
    return choose_lane(worker, wanted, "here");
  };
  const GrantedWorker both{.boot_id = "here", .lane_socket = "/x", .lane_address = "192.0.2.1:1"};
  CHECK(lane(both, "auto") == LaneKind::local);
  CHECK(lane(both, "local") == LaneKind::local);
  CHECK(lane(both, "ucx") == LaneKind::ucx);
  CHECK(lane(both, "tcp") == LaneKind::ucx);
  const GrantedWorker far{
      .node = "n2", .boot_id = "there", .lane_socket = "/x", .lane_address = "192.0.2.1:1"};
  CHECK(lane(far, "auto") == LaneKind::ucx);
  CHECK(lane(far, "ucx") == LaneKind::ucx);
  CHECK(own_boot_id().size() == 36);
}

TEST_CASE("a lane that leads nowhere is refused with what would help") {
  const auto why = [](const GrantedWorker& worker, std::string_view wanted) {
    const auto lane = choose_lane(worker, wanted, "here");
    REQUIRE_FALSE(lane.has_value());
    CHECK(lane.error().code == ErrorCode::unsupported);
    return lane.error().message;
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const GrantedWorker closed{.node = "n2", .boot_id = "there", .lane_socket = "/x"};
  CHECK(says(why(closed, "auto"), "--lane-listen"));
  CHECK(says(why(closed, "auto"), "n2"));
  const GrantedWorker far{.node = "n2", .boot_id = "there", .lane_address = "192.0.2.1:1"};
  CHECK(says(why(far, "local"), "'auto'"));
  CHECK(says(why({.node = "n1", .lane_socket = "/x"}, "ucx"), "--lane-listen"));
  CHECK(says(why(far, "rdma"), "'rdma'"));
}

}  // namespace orchid::sdk
