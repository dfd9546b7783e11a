#include "devices/core_team.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <atomic>
#include <cfenv>
#include <mutex>
#include <set>
#include <thread>

namespace orchid::executor {
namespace {

const TickRate& rate() {
  static const TickRate measured = TickRate::measure();
  return measured;
}

/// Everybody adds one, and stays until all that were wanted are there.
class Meeting final : public CoreTeam::Work {
 public:
  explicit Meeting(unsigned wanted) : wanted_(wanted) {}
  void take_part() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    ++come_;
    // The test's own time limit is the deadline.
    while (come_ < wanted_) ::sched_yield();
    if (std::fegetround() != FE_TONEAREST) ++other_rounding_;
  }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  [[nodiscard]] unsigned other_rounding() const { return other_rounding_; }

 private:
  unsigned wanted_;
  std::atomic<unsigned> come_{0};
  std::atomic<unsigned> other_rounding_{0};
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

class Count final : public CoreTeam::Work {
 public:
  void take_part() noexcept override { ++count; }
  std::atomic<int> count{0};
};

}  // namespace

TEST_CASE("all members come to the work, launch after launch") {
  CoreTeam team(rate());
  team.resize(3);
  REQUIRE(team.size() == 3);
  for (int launch = 0; launch < 200; ++launch) {
    Meeting meeting(4);
    team.open(meeting);
    meeting.take_part();
    team.close();
    REQUIRE(meeting.threads() == 4);
  }
}

TEST_CASE("work that is over before members wake is over") {
  CoreTeam team(rate());
  team.resize(2);
  for (int launch = 0; launch < 2000; ++launch) {
    Count work;
    team.open(work);
    team.close();
    REQUIRE(work.count <= 2);
  }
}

TEST_CASE("members compute with the state of the team's birth, not of the launch") {
  CoreTeam team(rate());
  std::fesetround(FE_UPWARD);
  team.resize(2);  // threads inherit the state of who makes them
  Meeting meeting(3);
  team.open(meeting);
  std::fesetround(FE_TONEAREST);
  meeting.take_part();
  team.close();
  CHECK(meeting.other_rounding() == 0);
}

TEST_CASE("a team shrinks, ends and comes again") {
  CoreTeam team(rate());
  for (const unsigned size : {3U, 1U, 0U, 2U}) {
    team.resize(size);
    CHECK(team.size() == size);
    Meeting meeting(size + 1);
    team.open(meeting);
    meeting.take_part();
    team.close();
    CHECK(meeting.threads() == size + 1);
  }
  team.disband();
  CHECK(team.size() == 0);
}

}  // namespace orchid::executor
