#include "dispatcher/dispatch_policy.h"

#include <doctest/doctest.h>

#include <list>
#include <random>
#include <vector>

#include "dispatcher/dispatch_deadlines.h"

namespace orchid::gateway {
namespace {

using std::chrono::nanoseconds;

constexpr LaneView idle_loaded{.usable = true, .loaded = true, .may_load = true};
constexpr LaneView idle_empty{.usable = true, .may_load = true};

LaneView busy(unsigned in_flight, nanoseconds backlog, bool loaded = true) {
  return {.usable = true,
          .loaded = loaded,
          .may_load = true,
          .in_flight = in_flight,
          .backlog = backlog};
}
Choice choose(const std::vector<LaneView>& lanes, const CallView& call) {
  return choose_lane(lanes, call);
}

TEST_CASE("an entry is known as short after three quick runs") {
  lane_client::RunTimeEstimate estimate;
  estimate.observe(nanoseconds(1'000));
  estimate.observe(nanoseconds(1'000));
  CHECK_FALSE(is_short(estimate));
  estimate.observe(nanoseconds(1'000));
  CHECK(is_short(estimate));
  for (int i = 0; i < 3; ++i) estimate.observe(std::chrono::milliseconds(1));
  CHECK_FALSE(is_short(estimate));
}

TEST_CASE("an idle worker that has the module gets the call") {
  const auto choice = choose({busy(1, nanoseconds(5)), idle_empty, idle_loaded}, {});
  CHECK(choice.kind == Choice::Kind::send);
  CHECK(choice.lane == 2);
}

TEST_CASE("short calls stand behind others, but not where a long one has waited for its turn") {
  LaneView lane = busy(3, nanoseconds(3'000));
  CHECK(choose({lane}, {.is_short = true}).kind == Choice::Kind::send);
  lane.awaited = true;
  CHECK(choose({lane}, {.is_short = true}).kind == Choice::Kind::wait);
  lane.in_flight = 0;  // the long one was asked first, and cannot have it
  CHECK(choose({lane}, {.is_short = true}).kind == Choice::Kind::send);
}

TEST_CASE("else an idle worker loads the module") {
  const auto choice = choose({busy(1, nanoseconds(5)), idle_empty}, {});
  CHECK(choice.kind == Choice::Kind::load);
  CHECK(choice.lane == 1);
}

TEST_CASE("a long call is never sent behind another") {
  CHECK(choose({busy(1, nanoseconds(5))}, {}).kind == Choice::Kind::wait);
}

TEST_CASE("short calls are sent behind others, to the lane that is done first") {
  const auto choice =
      choose({busy(3, nanoseconds(9'000)), busy(5, nanoseconds(3'000))}, {.is_short = true});
  CHECK(choice.kind == Choice::Kind::send);
  CHECK(choice.lane == 1);
}

TEST_CASE("not more than 16 calls lie in a lane") {
  CHECK(choose({busy(15, nanoseconds(15))}, {.is_short = true}).kind == Choice::Kind::send);
  CHECK(choose({busy(16, nanoseconds(16))}, {.is_short = true}).kind == Choice::Kind::wait);
}

TEST_CASE("a short call is not sent behind a long one or an overdue one") {
  LaneView stuck = busy(1, nanoseconds(10));
  stuck.flows = false;
  CHECK(choose({stuck}, {.is_short = true}).kind == Choice::Kind::wait);
}

TEST_CASE("when the backlog is long another idle worker loads the module too") {
  const std::vector<LaneView> lanes{busy(10, nanoseconds(200'000)), idle_empty};
  const auto choice = choose(lanes, {.is_short = true, .waiting = 5});
  CHECK(choice.kind == Choice::Kind::load);
  CHECK(choice.lane == 1);
  auto loading = lanes;
  loading[1].loading = true;
  CHECK(choose(loading, {.is_short = true, .waiting = 5}).kind == Choice::Kind::send);
}

TEST_CASE("no more workers load a module than calls of it wait") {
  std::vector<LaneView> lanes{idle_empty, idle_empty};
  lanes[0].loading = true;
  CHECK(choose(lanes, {.waiting = 1}).kind == Choice::Kind::wait);
  CHECK(choose(lanes, {.waiting = 2}).kind == Choice::Kind::load);
}

TEST_CASE("a busy worker is not asked to load, and one that loads after its call does not count") {
  CHECK(choose({busy(1, nanoseconds(10), false)}, {}).kind == Choice::Kind::wait);
  LaneView later = busy(1, nanoseconds(10), false);
  later.loading = true;
  const auto choice = choose({later, idle_empty}, {});
  CHECK(choice.kind == Choice::Kind::load);
  CHECK(choice.lane == 1);
}

TEST_CASE(
    "a worker that loads a module for an earlier call takes short calls meanwhile, not long ones") {
  LaneView promised = idle_loaded;
  promised.loading_other = true;
  CHECK(choose({promised}, {}).kind == Choice::Kind::send);  // that one gets a worker of its own
  promised.promised = true;
  CHECK(choose({promised}, {}).kind == Choice::Kind::wait);
  CHECK(choose({promised}, {.is_short = true}).kind == Choice::Kind::send);
  promised.may_load = false;  // its executor is silent: nobody knows when it loads
  CHECK(choose({promised}, {}).kind == Choice::Kind::send);
}

TEST_CASE(
    "nothing is loaded where the executor does not answer, and nothing sent where the lane is "
    "unusable") {
  LaneView silent = idle_empty;
  silent.may_load = false;
  CHECK(choose({silent, LaneView{.loaded = true}}, {}).kind == Choice::Kind::wait);
}

TEST_CASE("a call that needs a clear lane waits for one") {
  LaneView held = idle_loaded;
  held.clear = false;
  CHECK(choose({held}, {}).kind == Choice::Kind::send);
  CHECK(choose({held}, {.needs_clear_lane = true}).kind == Choice::Kind::wait);
  CHECK(choose({held, idle_loaded}, {}).lane == 1);
}

TEST_CASE("one worker is wanted for each long call, and few for many short ones") {
  CHECK(workers_wanted({}, 100) == 0);
  CHECK(workers_wanted({.long_calls = 3}, 100) == 3);
  CHECK(workers_wanted({.short_calls = 16, .short_work = nanoseconds(16'000)}, 100) == 1);
  CHECK(workers_wanted({.short_calls = 16, .short_work = nanoseconds(16 * 50'000)}, 100) == 8);
  CHECK(workers_wanted({.long_calls = 2, .short_calls = 1}, 100) == 3);
  CHECK(workers_wanted({.long_calls = 1, .useless_workers = 2}, 100) == 3);
  CHECK(workers_wanted({.useless_workers = 2}, 100) == 0);
  CHECK(workers_wanted({.long_calls = 1000}, 100) == 100);
}

TEST_CASE("the earliest deadline is always known, whatever comes, moves and goes") {
  std::mt19937 random(1);
  std::list<DispatchCall> calls;
  DispatchDeadlines deadlines;
  const auto some_time = [&] {
    return MonotonicTime{} + std::chrono::milliseconds(random() % 1000);
  };
  for (int step = 0; step < 20'000; ++step) {
    const unsigned what = random() % 3;
    if (what == 0 || calls.empty()) {
      deadlines.insert(calls.emplace_back(), some_time());
    } else {
      auto one = calls.begin();
      std::advance(one, random() % calls.size());
      if (what == 1) {
        deadlines.move(*one, some_time());
      } else {
        deadlines.remove(*one);
        calls.erase(one);
      }
    }
    REQUIRE(deadlines.empty() == calls.empty());
    if (calls.empty()) continue;
    auto earliest = calls.front().due;
    for (const DispatchCall& call : calls) earliest = std::min(earliest, call.due);
    REQUIRE(deadlines.earliest().due == earliest);
  }
}

}  // namespace
}  // namespace orchid::gateway
