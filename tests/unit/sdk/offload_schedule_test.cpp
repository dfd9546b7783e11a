#include <doctest/doctest.h>

#include <random>

#include "offload/piece_schedule.h"
#include "offload_simulation.h"

namespace orchid::tests {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Time = PieceSchedule::Time;

double in_ms(Time time) { return static_cast<double>(time.count()) / 1e6; }

}  // namespace

TEST_CASE("a single local participant computes everything, in few pieces") {
  OffloadSimulation simulation({.count = 1'000'000});
  simulation.add({.items_per_us = 10});
  CHECK(in_ms(simulation.run()) == doctest::Approx(100).epsilon(0.001));
  CHECK(simulation.each_applied_once());
  CHECK(simulation.schedule.counts().pieces < 300);
  CHECK(simulation.schedule.counts().local_items == 1'000'000);
}

TEST_CASE("participants of different speeds end together") {
  OffloadSimulation simulation({.count = 4'000'000});
  simulation.add({.items_per_us = 10});
  simulation.add(
      {.kind = ParticipantKind::worker, .items_per_us = 30, .latency = microseconds(50)});
  const double ideal = 100;
  CHECK(in_ms(simulation.run()) < ideal * 1.06);
  CHECK(simulation.each_applied_once());
  CHECK(simulation.schedule.counts().worker_items > 2'700'000);
}

TEST_CASE("a long transfer makes pieces longer, and its worker still gains") {
  OffloadSimulation simulation({.count = 4'000'000});
  simulation.add({.items_per_us = 10});
  simulation.add({.kind = ParticipantKind::worker, .items_per_us = 30, .latency = milliseconds(2)});
  CHECK(in_ms(simulation.run()) < 140);
  CHECK(simulation.each_applied_once());
}

TEST_CASE("items that take long each are not handed out by the thousand") {
  OffloadSimulation simulation({.count = 64});
  simulation.add({.items_per_us = 1e-4});  // 10 ms each
  simulation.add({.kind = ParticipantKind::worker, .items_per_us = 1e-4});
  CHECK(in_ms(simulation.run()) < 330);
  CHECK(simulation.each_applied_once());
}

TEST_CASE("a stuck worker does not delay the end by more than its piece takes here") {
  OffloadSimulation simulation({.count = 1'000'000});
  simulation.add({.items_per_us = 10});
  simulation.add(
      {.kind = ParticipantKind::worker, .items_per_us = 10, .stuck_from = milliseconds(20)});
  CHECK(in_ms(simulation.run()) < 100);
  CHECK(simulation.each_applied_once());
  CHECK(simulation.schedule.counts().repeated > 0);
}

TEST_CASE("a worker that becomes slow at the end is overtaken by the parts of its piece") {
  OffloadSimulation simulation({.count = 100});
  simulation.add({.items_per_us = 1});
  simulation.add({.items_per_us = 1});
  simulation.add({.kind = ParticipantKind::worker, .items_per_us = 1e-6});
  CHECK(simulation.run() < milliseconds(1));
  CHECK(simulation.each_applied_once());
}

TEST_CASE("what a lost worker had is done by others") {
  OffloadSimulation simulation({.count = 1'000'000});
  simulation.add({.items_per_us = 10});
  simulation.add({.kind = ParticipantKind::worker, .items_per_us = 10, .leaves = milliseconds(20)});
  CHECK(in_ms(simulation.run()) < 90);
  CHECK(simulation.each_applied_once());
}

TEST_CASE("a worker that joins in the middle takes its share of the rest") {
  OffloadSimulation simulation({.count = 1'000'000});
  simulation.add({.items_per_us = 10});
  simulation.add({.kind = ParticipantKind::worker, .items_per_us = 10, .joins = milliseconds(40)});
  CHECK(in_ms(simulation.run()) < 74);
  CHECK(simulation.each_applied_once());
}

TEST_CASE("what fails on a worker is done locally") {
  OffloadSimulation simulation({.count = 100'000});
  simulation.add({.items_per_us = 10});
  simulation.add({.kind = ParticipantKind::worker, .items_per_us = 10, .fails = 1'000'000});
  CHECK(simulation.run() != OffloadSimulation::never);
  CHECK(simulation.each_applied_once());
  CHECK(simulation.schedule.counts().worker_items == 0);
}

TEST_CASE("a piece that is too large for its lane keeps its beginning") {
  PieceSchedule schedule({.count = 100});
  const ParticipantId local = schedule.add(ParticipantKind::local);
  const ParticipantId worker = schedule.add(ParticipantKind::worker);
  const auto here = schedule.next(local, Time{0});
  REQUIRE(here.has_value());
  (void)schedule.finish(here->id, microseconds(10),
                        microseconds(10));  // 10 us an item: 50 in 500 us
  const auto there = schedule.next(worker, microseconds(10));
  REQUIRE(there.has_value());
  CHECK(there->range == OffloadRange{1, 51});
  CHECK(schedule.shrink(there->id, 10).range == OffloadRange{1, 11});
  const auto rest = schedule.next(local, microseconds(10));
  REQUIRE(rest.has_value());
  CHECK(rest->range.first == 11);
}

TEST_CASE("each index is applied exactly once, whatever happens in whatever order") {
  std::mt19937_64 random(20240607);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    OffloadSimulation simulation({.count = below(4) == 0 ? below(8) : below(20'000)});
    simulation.add({.items_per_us = 0.01 * static_cast<double>(1 + below(1000))});
    for (std::uint64_t other = below(7); other > 0; --other) {
      OffloadSimulation::Participant one{
          .kind = static_cast<ParticipantKind>(below(3)),
          .items_per_us = 0.001 * static_cast<double>(1 + below(10'000)),
          .latency = microseconds(below(2000)),
          .joins = below(2) == 0 ? Time{0} : microseconds(below(5000))};
      if (one.kind != ParticipantKind::local) {
        if (below(3) == 0) one.leaves = one.joins + microseconds(below(5000));
        if (below(3) == 0) one.stuck_from = microseconds(below(5000));
        if (below(3) == 0) one.fails = static_cast<unsigned>(below(5));
      }
      simulation.add(one);
    }
    REQUIRE(simulation.run() != OffloadSimulation::never);
    REQUIRE(simulation.each_applied_once());
  }
}

}  // namespace orchid::tests
