#include "utilisation/simulation.h"

#include <doctest/doctest.h>

#include <utility>

#include "utilisation/workload_model.h"

using namespace orchid::utilisation;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr ClusterShape shape{.nodes = 4, .cores_per_node = 16};

orchid::pilot::PilotOptions options() { return {.most_cores = shape.cores_per_node}; }

}  // namespace

TEST_CASE("in each run cores are conserved at every event, and nothing beats the oracle") {
  const Trace trace = generate({.cores = shape.cores(), .load = 1.2, .span = hours(24), .seed = 3});
  const RunOptions run{.shape = shape, .counted = {hours(1), hours(6)}, .seed = 3, .audit = true};
  for (const auto& policy :
       {make_no_pilots(), make_whole_node_pilots(), make_orchid_pilots(options(), shape)}) {
    const RunReport report = simulate(trace, run, *policy);
    CHECK_MESSAGE(!report.broken, report.broken.value_or(""));
    CHECK(report.oracle() <= 1);
    CHECK(report.recovered() <= report.oracle());
    // Batch jobs and their windows are all core time, but for what jobs wait for pilots.
    const SimTime all = shape.cores() * (run.counted.until - run.counted.from);
    CHECK(report.batch_time + report.idle.whole <= all);
    CHECK(report.batch_time + report.idle.whole >= all - seconds(60));
    CHECK(report.functions.recovered + report.functions.evicted <= report.pilot_time);
    CHECK(report.pilot_time <= report.idle.whole);
  }
}

TEST_CASE("the same seed gives the same run") {
  const Trace trace = generate({.cores = shape.cores(), .load = 1.2, .span = hours(24), .seed = 3});
  const RunOptions run{.shape = shape, .counted = {hours(1), hours(12)}, .seed = 3};
  const RunReport first = simulate(trace, run, *make_orchid_pilots(options(), shape));
  const RunReport second = simulate(trace, run, *make_orchid_pilots(options(), shape));
  CHECK(first.functions.completed == second.functions.completed);
  CHECK(first.delays_ms == second.delays_ms);
  CHECK(first.pilots_started == second.pilots_started);
}

TEST_CASE("pilots change the start of a batch job by the time that they need to go") {
  // Two nodes' worth of a job that comes when pilots have everything.
  Trace trace{.jobs = {{.id = 1,
                        .submitted = minutes(30),
                        .cores = 64,
                        .runtime = minutes(10),
                        .limit = minutes(20)}},
              .end = hours(1)};
  const RunOptions run{.shape = shape, .counted = {SimTime(0), hours(1)}, .audit = true};
  const RunReport alone = simulate(trace, run, *make_no_pilots());
  CHECK(alone.jobs == 1);
  CHECK(alone.delays_ms.empty());
  CHECK(alone.mean_wait_seconds == 0);
  const RunReport pilots = simulate(trace, run, *make_whole_node_pilots());
  CHECK(pilots.pilots_preempted == 4);
  REQUIRE(pilots.delays_ms.size() == 1);
  CHECK(pilots.delays_ms[0] >= 35);
  CHECK(pilots.delays_ms[0] <= 150);
  REQUIRE(pilots.delays_with_pass_ms.size() == 1);
  CHECK(pilots.delays_with_pass_ms[0] >= pilots.delays_ms[0]);
  CHECK(pilots.mean_wait_seconds == doctest::Approx(pilots.delays_with_pass_ms[0] / 1000));
  // 50 minutes of 64 cores, of which pilots lose a few at their starts and ends.
  CHECK(pilots.recovered() > 0.9);
}

TEST_CASE("a pilot leaves its cores before its time is over") {
  class OnePilot final : public PilotPolicy {
   public:
    PilotOrders decide(const Sight&) override {
      PilotOrders orders;
      if (!std::exchange(submitted_, true))
        orders.submit.push_back(
            {.cores = 1, .length = minutes(10), .node = {}, .leaves_early = seconds(5)});
      return orders;
    }

   private:
    bool submitted_ = false;
  };
  OnePilot policy;
  const RunOptions run{.shape = shape, .counted = {SimTime(0), hours(1)}, .audit = true};
  CHECK(simulate({.jobs = {}, .end = hours(1)}, run, policy).pilot_time ==
        minutes(10) - seconds(5));
}
