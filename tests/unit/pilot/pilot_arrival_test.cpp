// Which pilots a controller counts on: those that come, are idle, are lost or never come.
#include <doctest/doctest.h>

#include "pilot_decisions.h"

namespace orchid::pilot {
namespace {

using namespace std::chrono_literals;

constexpr MonotonicTime arrival_start{1h};

}  // namespace

TEST_CASE("while pilots that are used end, only those that can take their workers stay idle") {
  PilotController controller({.most_cores = 4, .shrink_after = 60s, .renew_before = 1min});
  const auto pilot = [](std::uint64_t job, std::uint32_t used, MonotonicTime ends) {
    return Pilot{
        .job = job, .cores = 4, .runs = true, .joined = true, .cores_used = used, .ends = ends};
  };
  // Short ones: some pilot that is used is always about to end.
  Situation situation{.pilots = {pilot(1, 0, arrival_start + 1h), pilot(2, 0, arrival_start + 1h),
                                 pilot(3, 0, arrival_start + 1h),
                                 pilot(4, 3, arrival_start + 30s)}};
  CHECK(controller.decide(arrival_start, situation).empty());
  situation.pilots[3] = pilot(5, 3, arrival_start + 90s);
  CHECK(controller.decide(arrival_start + 59s, situation).empty());
  CHECK(cancelled(controller.decide(arrival_start + 60s, situation)) ==
        std::vector<std::uint64_t>{2, 3});
  situation.pilots = {pilot(1, 0, arrival_start + 1h)};  // its workers are about to come
  CHECK(controller.decide(arrival_start + 62s, situation).empty());
  CHECK(cancelled(controller.decide(arrival_start + 70s, situation)) ==
        std::vector<std::uint64_t>{1});
}

TEST_CASE("a pilot that is used has room for what ends, and no idle one stays for that") {
  PilotController controller({.most_cores = 8, .shrink_after = 60s, .renew_before = 1min});
  const auto pilot = [](std::uint64_t job, std::uint32_t used, MonotonicTime ends) {
    return Pilot{
        .job = job, .cores = 8, .runs = true, .joined = true, .cores_used = used, .ends = ends};
  };
  const Situation situation{.pilots = {pilot(1, 0, arrival_start + 1h),
                                       pilot(2, 4, arrival_start + 1h),
                                       pilot(3, 4, arrival_start + 90s)}};
  CHECK(controller.decide(arrival_start, situation).empty());
  CHECK(cancelled(controller.decide(arrival_start + 60s, situation)) ==
        std::vector<std::uint64_t>{1});
}

TEST_CASE("a pilot that runs and never joins is cancelled, has failed, and its node is avoided") {
  PilotController controller({.grow_after = 0s, .join_within = 60s, .first_pause = 5s});
  Situation situation{
      .demand = one_core(1),
      .pilots = {{.job = 1, .cores = 1, .node = "n1"}},
      .holes = std::vector<Hole>{{.node = "n1", .cores = 1}, {.node = "n2", .cores = 1}}};
  CHECK(controller.decide(arrival_start, situation).empty());
  situation.pilots[0].runs = true;
  CHECK(controller.decide(arrival_start + 100s, situation).empty());
  CHECK(controller.decide(arrival_start + 159s, situation).empty());
  CHECK(controller.decide(arrival_start + 160s, situation) ==
        std::vector<PilotAction>{CancelPilot{.job = 1, .why = CancelReason::never_joined}});
  CHECK(controller.decide(arrival_start + 162s, situation).empty());  // a pause
  // As long as it is there it is told once, and nobody waits for it.
  CHECK(controller.decide(arrival_start + 165s, situation) ==
        std::vector<PilotAction>{SubmitPilot{.cores = 1, .time = 1h, .node = "n2"}});
}

TEST_CASE("a pilot whose node is being made ready, or that is suspended, has its time to join") {
  PilotController controller({.grow_after = 0s, .shrink_after = 24h, .join_within = 60s});
  Situation situation{.demand = one_core(1), .pilots = {{.job = 1, .cores = 1, .runs = true}}};
  Pilot& pilot = situation.pilots[0];
  pilot.configuring = true;
  CHECK(controller.decide(arrival_start, situation).empty());
  CHECK(controller.decide(arrival_start + 10min, situation).empty());
  pilot.configuring = false;
  pilot.suspended = true;
  CHECK(cancelled(controller.decide(arrival_start + 20min, situation)).empty());
  pilot.suspended = false;
  CHECK(controller.decide(arrival_start + 20min + 59s, situation).empty());
  CHECK(cancelled(controller.decide(arrival_start + 21min, situation)) ==
        std::vector<std::uint64_t>{1});
}

TEST_CASE("a pilot that has been lost, or is suspended, is not on its way") {
  const auto others = [](bool lost, bool suspended) {
    PilotController controller({.grow_after = 0s, .shrink_after = 60s});
    Situation situation{.demand = {},
                        .pilots = {{.job = 1, .cores = 1, .runs = true, .joined = true}}};
    CHECK(controller.decide(arrival_start, situation).empty());
    situation.demand = one_core(1);
    situation.pilots[0].joined = !lost;
    situation.pilots[0].suspended = suspended;
    const auto submitted = submissions(controller.decide(arrival_start + 1s, situation));
    // Nor is it kept for who is wanted; and it has joined, so that it has not failed.
    CHECK(controller.decide(arrival_start + 60s, situation).front() ==
          PilotAction(CancelPilot{.job = 1}));
    return submitted.size();
  };
  CHECK(others(false, false) == 0);
  CHECK(others(true, false) == 1);
  CHECK(others(false, true) == 1);
  CHECK(others(true, true) == 1);
}

}  // namespace orchid::pilot
