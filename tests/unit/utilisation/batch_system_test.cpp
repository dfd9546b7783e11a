#include "utilisation/batch_system.h"

#include <doctest/doctest.h>

using namespace orchid::utilisation;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr ClusterShape two_nodes{.nodes = 2, .cores_per_node = 4};

BatchSystem made(ClusterShape shape = two_nodes) {
  return BatchSystem({.shape = shape, .counted = {SimTime(0), std::chrono::hours(24)}});
}

TraceJob job(std::uint64_t id, std::uint32_t cores, SimTime limit) {
  return {.id = id, .submitted = SimTime(0), .cores = cores, .runtime = limit / 2, .limit = limit};
}

std::vector<std::uint64_t> started(const BatchSystem::Events& events) {
  std::vector<std::uint64_t> ids;
  for (const auto& start : events.jobs) ids.push_back(start.job);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("the first pass keeps to the order, backfill goes round a job that waits") {
  BatchSystem batch = made();
  batch.submit(job(1, 6, minutes(60)));
  batch.submit(job(2, 8, minutes(60)));
  batch.submit(job(3, 2, minutes(60)));   // would end with job 1
  batch.submit(job(4, 1, minutes(120)));  // would hold up job 2
  CHECK(started(batch.first_in_order_pass(SimTime(0))) == Ids{1});
  CHECK(started(batch.backfill_pass(SimTime(0))) == Ids{3});
  CHECK(batch.waiting_jobs() == 2);
  CHECK_FALSE(batch.audit());
  batch.job_ended(1, minutes(30));
  batch.job_ended(3, minutes(30));
  CHECK(started(batch.first_in_order_pass(minutes(30))) == Ids{2});
  batch.job_ended(2, minutes(60));
  CHECK(started(batch.first_in_order_pass(minutes(60))) == Ids{4});
}

TEST_CASE("a plan is moved by nothing behind it, even if it is not the first") {
  BatchSystem batch = made();
  batch.submit(job(1, 4, minutes(60)));
  batch.submit(job(2, 8, minutes(60)));  // from 60 on
  batch.submit(job(3, 4, minutes(90)));  // from 120 on: no room for it before
  batch.submit(job(4, 4, minutes(60)));  // now
  batch.submit(job(5, 4, minutes(60)));  // beside job 3
  (void)batch.first_in_order_pass(SimTime(0));
  CHECK(started(batch.backfill_pass(SimTime(0))) == Ids{4});
  CHECK(batch.waiting_jobs() == 3);
}

TEST_CASE("a job over its limit ends with the next sweep") {
  BatchSystem batch = made();
  TraceJob late = job(1, 1, seconds(95));
  late.runtime = seconds(500);
  batch.submit(late);
  const auto events = batch.first_in_order_pass(SimTime(0));
  REQUIRE(events.jobs.size() == 1);
  CHECK(events.jobs[0].ends == seconds(120));
  late.id = 2;
  late.runtime = seconds(100);
  batch.submit(late);
  CHECK(batch.first_in_order_pass(SimTime(0)).jobs[0].ends == seconds(100));
}

TEST_CASE("a batch job takes idle cores before those of pilots, and waits for no one then") {
  BatchSystem batch = made();
  const PilotId pilot = batch.submit(PilotJob{.cores = 4, .length = minutes(60), .node = 0});
  CHECK(batch.first_in_order_pass(SimTime(0)).pilots_started == Ids{pilot});
  batch.submit(job(1, 4, minutes(60)));
  const auto events = batch.first_in_order_pass(seconds(10));
  CHECK(started(events) == Ids{1});
  CHECK(events.pilots_preempted.empty());
  CHECK(events.jobs[0].delay == SimTime(0));
  CHECK(batch.ledger().batch(1) == CoreSet{0, 1, 2, 3});
  CHECK_FALSE(batch.audit());
}

TEST_CASE("the youngest pilot of a node goes first, whole, and the job starts a little later") {
  BatchSystem batch = made({.nodes = 1, .cores_per_node = 8});
  const PilotId old = batch.submit(PilotJob{.cores = 4, .length = minutes(60), .node = {}});
  (void)batch.first_in_order_pass(SimTime(0));
  const PilotId young = batch.submit(PilotJob{.cores = 4, .length = minutes(60), .node = {}});
  (void)batch.first_in_order_pass(seconds(1));
  batch.submit(job(1, 1, minutes(60)));
  const auto events = batch.first_in_order_pass(seconds(10));
  CHECK(events.pilots_preempted == Ids{young});
  REQUIRE(events.jobs.size() == 1);
  CHECK(events.jobs[0].delay >= preemption_least + reclaim_least);
  CHECK(events.jobs[0].delay <= preemption_most + reclaim_most + second_look);
  CHECK(events.jobs[0].at == seconds(10) + events.jobs[0].delay);
  CHECK(batch.running_pilots().contains(old));
  CHECK(batch.ledger().idle(0).size() == 3);
  CHECK_FALSE(batch.audit());
}

TEST_CASE(
    "all pilots of a node go where preemption takes whole nodes, and none where cores are idle") {
  BatchSystem batch({.shape = {.nodes = 1, .cores_per_node = 8},
                     .counted = {SimTime(0), std::chrono::hours(24)},
                     .preemption = {.who = PreemptedPilots::all_of_a_node}});
  (void)batch.submit(PilotJob{.cores = 3, .length = minutes(60), .node = {}});
  (void)batch.submit(PilotJob{.cores = 3, .length = minutes(60), .node = {}});
  (void)batch.first_in_order_pass(SimTime(0));
  batch.submit(job(1, 2, minutes(60)));
  CHECK(batch.first_in_order_pass(seconds(1)).pilots_preempted.empty());
  batch.submit(job(2, 1, minutes(60)));
  CHECK(batch.first_in_order_pass(seconds(2)).pilots_preempted.size() == 2);
  CHECK(batch.ledger().idle(0).size() == 5);
  CHECK_FALSE(batch.audit());
}

TEST_CASE("a job that is given a delay starts so much later, without any pilot") {
  const std::map<std::uint64_t, SimTime> given{{2, seconds(7)}};
  BatchSystem batch({.shape = two_nodes,
                     .counted = {SimTime(0), std::chrono::hours(24)},
                     .preemption = {.given = &given}});
  batch.submit(job(1, 1, minutes(60)));
  batch.submit(job(2, 1, minutes(60)));
  const auto events = batch.first_in_order_pass(seconds(1));
  REQUIRE(events.jobs.size() == 2);
  CHECK(events.jobs[0].at == seconds(1));
  CHECK(events.jobs[1].at == seconds(8));
}

TEST_CASE("one that has to preempt at its submission waits for slurmctld's next pass, too") {
  SimTime longest{0};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BatchSystem batch({.shape = {.nodes = 1, .cores_per_node = 8},
                       .counted = {SimTime(0), std::chrono::hours(1)},
                       .seed = seed});
    (void)batch.submit(PilotJob{.cores = 8, .length = minutes(60), .node = {}});
    (void)batch.first_in_order_pass(SimTime(0));
    TraceJob one = job(1, 1, minutes(60));
    one.submitted = seconds(10);
    batch.submit(one);
    const auto events = batch.first_in_order_pass(seconds(10));
    REQUIRE(events.jobs.size() == 1);
    CHECK(events.jobs[0].pass <= longest_until_pass);
    CHECK(events.jobs[0].at == seconds(10) + events.jobs[0].pass + events.jobs[0].delay);
    longest = std::max(longest, events.jobs[0].pass);
  }
  CHECK(longest > longest_until_pass / 2);
}

TEST_CASE(
    "behind a job that waits, pilots start with backfill, and only where they do not hold it up") {
  BatchSystem batch = made();
  batch.submit(job(1, 6, minutes(30)));
  batch.submit(job(2, 8, minutes(30)));
  (void)batch.first_in_order_pass(SimTime(0));
  const PilotId too_long = batch.submit(PilotJob{.cores = 1, .length = minutes(31), .node = {}});
  const PilotId fits = batch.submit(PilotJob{.cores = 1, .length = minutes(29), .node = {}});
  CHECK(batch.first_in_order_pass(seconds(5)).pilots_started.empty());
  CHECK(batch.backfill_pass(seconds(30)).pilots_started == Ids{fits});
  CHECK(batch.waiting_pilots().contains(too_long));
}

TEST_CASE("a pilot for a whole node finds one on which nobody is") {
  BatchSystem batch = made();
  batch.submit(job(1, 1, minutes(30)));
  (void)batch.first_in_order_pass(SimTime(0));
  const PilotJob whole{.length = minutes(10), .node = {}, .whole_node = true, .priority = 10};
  const PilotId first = batch.submit(whole);
  const PilotId second = batch.submit(whole);
  CHECK(batch.first_in_order_pass(seconds(1)).pilots_started == Ids{first});
  CHECK(batch.running_pilots().at(first).node == 1);
  CHECK(batch.ledger().pilots(1).size() == 4);
  CHECK(batch.ledger().idle(0).size() == 3);
  batch.remove_pilot(second);
  CHECK(batch.waiting_pilots().empty());
}

TEST_CASE("holes end where a planned job needs their cores, step by step") {
  BatchSystem batch = made();
  batch.submit(job(1, 6, minutes(30)));  // node 0, and two cores of node 1
  batch.submit(job(2, 7, minutes(30)));
  (void)batch.first_in_order_pass(SimTime(0));
  (void)batch.backfill_pass(SimTime(0));
  auto holes = batch.holes(seconds(1));
  // Job 2 leaves one core, but Slurm does not tell of which node.
  REQUIRE(holes.size() == 1);
  CHECK(holes[0].node == 1);
  CHECK(holes[0].cores == 2);
  CHECK(holes[0].until == minutes(30));
  // What a pilot has is no hole.
  (void)batch.submit(PilotJob{.cores = 2, .length = minutes(5), .node = 1});
  (void)batch.backfill_pass(seconds(30));
  CHECK(batch.holes(seconds(31)).empty());
}

TEST_CASE("placement hears of a node when something has changed there") {
  BatchSystem batch = made();
  CHECK(batch.take_changed_nodes() == std::vector<std::uint32_t>{0, 1});
  CHECK(batch.take_changed_nodes().empty());
  batch.submit(job(1, 4, minutes(30)));
  (void)batch.first_in_order_pass(SimTime(0));
  CHECK(batch.take_changed_nodes() == std::vector<std::uint32_t>{0});
  const auto holders = batch.holders(0);
  REQUIRE(holders.size() == 1);
  CHECK(holders[0].job == 1);
  CHECK(holders[0].cores == CoreSet{0, 1, 2, 3});
}
