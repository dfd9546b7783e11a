#include "lease/lease_grant.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lease/open_lane.h"

namespace orchid::sdk {
namespace {

using nlohmann::json;

constexpr auto document =
    R"json({"id":"l-3-17","state":"open","wait":"adaptive","cores_per_worker":2,
  "memory_bytes":1048576,"expires_in_ms":60000,"workers":[{"lease":"l-3-18","secret":"aa","node":"n1",
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
  json request = json::parse(lease_request({.workers = 4,
                                            .at_least = 2,
                                            .cores_per_worker = 3,
                                            .memory = 1 << 20,
                                            .wait = Wait::hot,
                                            .duration = std::chrono::seconds(5),
                                            .within = std::chrono::seconds(1),
                                            .constraints = {.host = "n1"}},
                                           "boot"));
  CHECK(request == json{{"workers", 4},
                        {"at_least", 2},
                        {"cores_per_worker", 3},
                        {"memory_bytes", 1 << 20},
                        {"wait", "hot"},
                        {"duration_ms", 5000},
                        {"within_ms", 1000},
                        {"boot_id", "boot"},
                        {"constraints", {{"host", "n1"}}}});
  request = json::parse(lease_request({}, "boot"));
  CHECK_FALSE(request.contains("at_least"));
  CHECK_FALSE(request.contains("constraints"));
  CHECK(request["wait"] == "adaptive");
  CHECK(json::parse(renewal_request(std::chrono::seconds(5))) == json{{"duration_ms", 5000}});
}

TEST_CASE("a worker of another host is reached by no lane of this version") {
  const GrantedWorker elsewhere{.node = "n2", .boot_id = "other", .lane_socket = "/x/lanes.sock"};
  const auto socket = connect_lane_socket(elsewhere, "auto");
  REQUIRE_FALSE(socket.has_value());
  CHECK(socket.error().code == ErrorCode::unsupported);
  CHECK(socket.error().message.find("n2") != std::string::npos);
  CHECK_FALSE(connect_lane_socket({.lane_socket = "/x/lanes.sock"}, "ucx").has_value());
  CHECK(own_boot_id().size() == 36);
}

}  // namespace orchid::sdk
