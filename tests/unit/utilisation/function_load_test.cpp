#include "utilisation/function_load.h"

#include <doctest/doctest.h>

using namespace orchid::utilisation;
using std::chrono::seconds;

namespace {

FunctionLoad made_load(Span counted = {SimTime(0), std::chrono::hours(1)}) {
  return FunctionLoad({.shape = {.nodes = 2, .cores_per_node = 4}, .counted = counted});
}

Pilot pilot(PilotId id, SimTime length) {
  return {.id = id,
          .job = {.cores = 2, .length = length, .node = {}},
          .node = 1,
          .cores = CoreSet{1, 2},
          .started = SimTime(0),
          .ends = length};
}

}  // namespace

TEST_CASE("each core of a pilot runs one function after the other until they may not begin") {
  FunctionLoad load = made_load();
  load.join(pilot(7, seconds(120)), SimTime(0));
  CHECK(load.joined(7));
  CHECK(load.cores_used(7) == 2);
  CHECK_FALSE(load.audit());
  load.drain(7, seconds(108));
  load.leave(7, seconds(120));
  // From 10 ms on; the last one begins before 108 s, the drain of 120 s, and ends after 110 s.
  CHECK(load.totals().completed == 22);
  CHECK(load.totals().recovered == seconds(220));
  CHECK(load.totals().evicted == seconds(0));
  CHECK_FALSE(load.joined(7));
  CHECK(load.cores_used(7) == 0);
}

TEST_CASE("what is cut off is lost") {
  FunctionLoad load = made_load();
  load.join(pilot(7, seconds(600)), SimTime(0));
  load.leave(7, seconds(35));
  CHECK(load.totals().completed == 6);
  CHECK(load.totals().evicted == 2 * (seconds(5) - lease_start));
}

TEST_CASE("only functions within the counted time count") {
  FunctionLoad load = made_load({seconds(20), seconds(50)});
  load.join(pilot(7, seconds(600)), SimTime(0));
  load.leave(7, seconds(100));
  // Those that begin at 20.01 and 30.01 s on each core, and end before 50 s.
  CHECK(load.totals().completed == 4);
}

TEST_CASE("a core that another job seems to have is not used until the next poll says otherwise") {
  FunctionLoad load = made_load();
  const std::vector<orchid::placement::HostAllocation> before{
      {.host = host_of(1),
       .jobs = {{.job = orchid::placement::JobId(1), .cores = CoreSet{0, 1}, .gpus = {}}}}};
  load.learn(before, SimTime(0));
  load.join(pilot(7, seconds(600)), SimTime(0));
  CHECK(load.cores_used(7) == 1);
  const std::vector<orchid::placement::HostAllocation> after{
      {.host = host_of(1),
       .jobs = {{.job = orchid::placement::JobId(7), .cores = CoreSet{1, 2}, .gpus = {}}}}};
  load.learn(after, seconds(2));
  CHECK(load.cores_used(7) == 2);
  CHECK_FALSE(load.audit());
}
