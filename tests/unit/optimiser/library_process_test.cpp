// Optimisers of users in real processes: good ones decide; those that lie, hang or crash are found
// out.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>

#include "optimiser/library_process.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

Result<std::unique_ptr<Optimiser>> open_as_told(const std::string& act) {
  return open_library(PROGRAM, {.name = AS_TOLD, .options = {{"act", act}}}, "/");
}

Situation two_nodes() {
  Situation situation;
  situation.nodes.push_back({.node = 2,
                             .name = "runs",
                             .kind = NodeKind::map,
                             .function = "f",
                             .pieces_left = 96,
                             .pieces_total = 100,
                             .in_runs = true});
  situation.nodes.push_back(
      {.node = 5, .name = "one", .function = "g", .pieces_left = 1, .pieces_total = 1});
  situation.hosts.push_back({.name = "a", .kind = "cpu", .cores = 2, .cores_free = 2});
  situation.times.push_back(
      {.function = "f", .host_kind = {}, .calls = 3, .pieces = 4, .run_seconds = 1});
  situation.workers = 2;
  situation.window = 8;
  return situation;
}

/// Why its decision is not taken.
std::string trouble_of(const std::string& act) {
  auto optimiser = open_as_told(act);
  REQUIRE_MESSAGE(optimiser.has_value(), optimiser.error().message);
  const auto decided = (*optimiser)->decide(two_nodes());
  REQUIRE_FALSE(decided.has_value());
  return decided.error().message;
}

}  // namespace

TEST_CASE("a library decides in a process of its own") {
  auto optimiser = open_as_told("good");
  REQUIRE_MESSAGE(optimiser.has_value(), optimiser.error().message);
  CHECK((*optimiser)->name() == "as_told");
  CHECK((*optimiser)->description() == "does as it is told");
  const auto decided = (*optimiser)->decide(two_nodes());
  REQUIRE_MESSAGE(decided.has_value(), decided.error().message);
  REQUIRE(decided->nodes.size() == 2);
  CHECK(decided->nodes[0] ==
        Advice{.node = 2, .priority = 96, .pieces = 24, .why = "as_told: 96 left"});
  CHECK(decided->nodes[1] == Advice{.node = 5, .priority = 1, .why = "as_told: 1 left"});
}

TEST_CASE("a library sees the clusters of hosts, and where nodes may run") {
  auto optimiser = open_as_told("places");
  REQUIRE_MESSAGE(optimiser.has_value(), optimiser.error().message);
  Situation situation = two_nodes();
  situation.hosts[0].cluster = "moss";
  situation.hosts.push_back({.name = "b", .kind = "cpu", .cores = 2, .cores_free = 2});
  situation.nodes[0].constraints = {.kind = "cpu", .cluster = "moss"};
  const auto decided = (*optimiser)->decide(situation);
  REQUIRE_MESSAGE(decided.has_value(), decided.error().message);
  CHECK(decided->nodes[0].why == "as_told: 1 hosts of 'moss', kind 'cpu'");
  CHECK(decided->nodes[1].why == "as_told: 1 hosts of '', kind ''");
}

TEST_CASE("a library of the version before is served, with what it knew") {
  auto optimiser = open_library(PROGRAM, {.name = FIRST_ABI, .options = {}}, "/");
  REQUIRE_MESSAGE(optimiser.has_value(), optimiser.error().message);
  Situation situation = two_nodes();
  situation.hosts.push_back(
      {.name = "b", .kind = "cpu", .cores = 3, .cores_free = 3, .cluster = "moss"});
  const auto decided = (*optimiser)->decide(situation);
  REQUIRE_MESSAGE(decided.has_value(), decided.error().message);
  REQUIRE(decided->nodes.size() == 1);
  CHECK(decided->nodes[0].why == "first: runs, 3 cores free on b");
}

TEST_CASE("a library that lies is told what it has said") {
  CHECK(trouble_of("no_calls") == "cuts the 96 pieces that are left of node 'runs' into 0 calls");
  CHECK(trouble_of("many_calls") ==
        "cuts the 96 pieces that are left of node 'runs' into 1000000000 calls");
  CHECK(trouble_of("unknown_node") == "speaks of node 4000000000, which is not ready");
  CHECK(trouble_of("nobody") == "wants node 'runs' on host 12 of 1");
  CHECK(trouble_of("too_much") == "says: it has written more advice than there was room for");
  CHECK(trouble_of("give_up") == "says: it cannot decide (7)");
}

TEST_CASE("a library that hangs is given up after 100 ms, and one that crashes at once") {
  auto optimiser = open_as_told("hang");
  REQUIRE(optimiser.has_value());
  const auto begun = std::chrono::steady_clock::now();
  const auto decided = (*optimiser)->decide(two_nodes());
  REQUIRE_FALSE(decided.has_value());
  CHECK(decided.error().message == "does not decide within 100 ms");
  CHECK(std::chrono::steady_clock::now() - begun >= decision_deadline);
  CHECK(trouble_of("crash").find("has ended by signal 11") != std::string::npos);
}

TEST_CASE("code of a library can read no files of its user") {
  auto optimiser = open_as_told("opens_files");
  REQUIRE(optimiser.has_value());
  const auto decided = (*optimiser)->decide(two_nodes());
  REQUIRE(decided.has_value());
  CHECK(decided->nodes[0].why == "as_told: reads no files");
}

TEST_CASE("what is no optimiser is refused before the flow runs, with the reason") {
  const auto fault_of = [](const std::string& library) {
    const auto opened = open_library(PROGRAM, {.name = library, .options = {}}, "/");
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().code == ErrorCode::bad_configuration);
    CHECK(opened.error().message.starts_with("optimiser '" + library + "': "));
    return opened.error().message;
  };
  CHECK(fault_of("/nowhere/mine.so").find("cannot open shared object file") != std::string::npos);
  CHECK(fault_of(OTHER_ABI).find("made for another version of the ABI than 1 and 2") !=
        std::string::npos);
}
