#include "utilisation/pilot_policy.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace orchid::utilisation;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("whole-node pilots: ten of each length wait, the long ones first") {
  const auto policy = make_whole_node_pilots();
  const auto first = policy->decide({.now = SimTime(0), .pilots = {}});
  CHECK(first.submit.size() == 90);
  CHECK(first.submit.front().length == minutes(90));
  CHECK(first.submit.front().whole_node);
  CHECK(std::ranges::max(first.submit, {}, &PilotJob::priority).length == minutes(90));
  std::vector<PilotSight> pilots;
  for (const PilotJob& job : first.submit)
    pilots.push_back({.id = pilots.size(), .length = job.length, .ends = {}, .node = {}});
  CHECK(policy->decide({.now = seconds(1), .pilots = pilots}).submit.empty());
  pilots.front().runs = true;
  const auto next = policy->decide({.now = seconds(2), .pilots = pilots});
  REQUIRE(next.submit.size() == 1);
  CHECK(next.submit.front().length == minutes(90));
}

TEST_CASE("Orchid asks for a pilot in a hole, once demand has lasted, in whole minutes") {
  const auto policy = make_orchid_pilots({}, {.nodes = 2, .cores_per_node = 8});
  const std::vector<BatchSystem::Hole> holes{{.node = 1, .cores = 5, .until = minutes(20)}};
  CHECK(policy->decide({.now = SimTime(0), .pilots = {}, .holes = &holes}).submit.empty());
  const auto orders = policy->decide({.now = seconds(10), .pilots = {}, .holes = &holes});
  REQUIRE_FALSE(orders.submit.empty());
  CHECK(orders.submit.front().cores == 5);
  CHECK(orders.submit.front().node == 1);
  CHECK(orders.submit.front().length >= minutes(2));
  CHECK(orders.submit.front().length <= minutes(20));
  CHECK(orders.submit.front().length % minutes(1) == SimTime(0));
}

TEST_CASE("without pilots nobody asks for any") {
  CHECK(make_no_pilots()->decide({.now = SimTime(0), .pilots = {}}).submit.empty());
}
