#include "bandwidth/bandwidth_cap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr double GB = 1e9;

/// Workers that compute whenever they are not held, on cores of their own, and somebody who looks
/// when he is told to, or later.
struct Machine {
  explicit Machine(double cap) : cap(cap) {}
  struct Runner {
    double rate = 0;
    double moved = 0;     // bytes
    nanoseconds used{0};  // since the last look
    bool held = false;
    bool busy = true;
    double cores = 1;
  };
  void run(milliseconds time, nanoseconds late = nanoseconds(0)) {
    const auto end = now + time;
    while (now < end) {
      std::vector<BandwidthCap::Worker> workers;
      for (auto& [id, runner] : runners)
        workers.push_back({.id = id,
                           .rate = runner.rate,
                           .cores = runner.cores,
                           .used = std::exchange(runner.used, nanoseconds(0)),
                           .busy = runner.busy});
      const auto decision = cap.look(now, workers);
      CHECK(decision.next >= BandwidthCap::soonest);
      CHECK(decision.next <= BandwidthCap::latest);
      const nanoseconds step = decision.next + late;
      now += step;
      for (auto& [id, runner] : runners) {
        runner.held = std::ranges::find(decision.hold, id) != decision.hold.end();
        if (runner.held) ++holds;
        if (runner.held || !runner.busy) continue;
        const nanoseconds cpu(static_cast<long>(static_cast<double>(step.count()) * runner.cores));
        runner.used += cpu;
        runner.moved += runner.rate * std::chrono::duration<double>(cpu).count();
      }
    }
  }
  BandwidthCap cap;
  MonotonicTime now{std::chrono::hours(1)};
  std::map<std::uint64_t, Runner> runners;
  int holds = 0;
};

}  // namespace

TEST_CASE("shares are equal, and what one does not want others have") {
  CHECK(fair_shares(10, std::vector{1.0, 20.0, 20.0}) == std::vector{1.0, 4.5, 4.5});
  CHECK(fair_shares(10, std::vector{1.0, 2.0}) == std::vector{1.0, 2.0});
  CHECK(fair_shares(10, std::vector{0.0, 0.0}) == std::vector{0.0, 0.0});
  CHECK(fair_shares(10, {}).empty());
}

TEST_CASE("a worker that moves much gets its share, in turns of a few milliseconds") {
  Machine machine(2 * GB);
  machine.runners[1].rate = 10 * GB;
  machine.run(milliseconds(1000));
  CHECK(machine.runners[1].moved == doctest::Approx(2 * GB).epsilon(0.05));
  CHECK(machine.holds > 50);
}

TEST_CASE("whoever looks late does not give more than the share") {
  Machine machine(2 * GB);
  machine.runners[1].rate = 10 * GB;
  machine.run(milliseconds(3000), milliseconds(3));
  CHECK(machine.runners[1].moved == doctest::Approx(6 * GB).epsilon(0.05));
}

TEST_CASE("a worker that moves nothing, or less than its share, is never held") {
  Machine machine(2 * GB);
  machine.runners[1].rate = 0;
  machine.runners[2].rate = 0.5 * GB;
  machine.run(milliseconds(500));
  CHECK(machine.holds == 0);
  machine.runners[3].rate = 10 * GB;
  machine.run(milliseconds(500));
  CHECK_FALSE(machine.runners[1].held);
  CHECK_FALSE(machine.runners[2].held);
  CHECK(machine.runners[3].moved == doctest::Approx(0.75 * GB).epsilon(0.1));
}

TEST_CASE("two of a kind share, and one has all when the other stops") {
  Machine machine(2 * GB);
  machine.runners[1].rate = 8 * GB;
  machine.runners[2].rate = 8 * GB;
  machine.run(milliseconds(1000));
  CHECK(machine.runners[1].moved == doctest::Approx(1 * GB).epsilon(0.1));
  CHECK(machine.runners[2].moved == doctest::Approx(1 * GB).epsilon(0.1));
  machine.runners[2].busy = false;
  machine.runners[1].moved = 0;
  machine.run(milliseconds(1000));
  CHECK(machine.runners[1].moved == doctest::Approx(2 * GB).epsilon(0.1));
  CHECK_FALSE(machine.runners[2].held);
}

TEST_CASE("a worker of several cores is held as a whole") {
  Machine machine(2 * GB);
  machine.runners[1].rate = 5 * GB;
  machine.runners[1].cores = 4;
  machine.run(milliseconds(2000));
  CHECK(machine.runners[1].moved == doctest::Approx(4 * GB).epsilon(0.1));
}

TEST_CASE("who has rested does not save up for a burst") {
  Machine machine(2 * GB);
  machine.runners[1] = {.rate = 10 * GB, .busy = false};
  machine.run(milliseconds(10'000));
  machine.runners[1].busy = true;
  machine.run(milliseconds(100));
  CHECK(machine.runners[1].moved < 0.3 * GB);
}

}  // namespace orchid::executor
