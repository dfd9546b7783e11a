// lease/call_queue.h: in which order the calls of a lease get workers, and how many a worker is
// given at a time. Plain decisions over plain data: no lock, no clock, no lane.
//
// First come, first served, whoever calls: a client that waits for its answer before it calls again
// stands behind all others then, so that each gets its share of the calls, however long they last.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "lane_client/policy.h"

namespace orchid::sdk {

/// Whether a worker takes a call.
enum class Turn : std::uint8_t {
  never,      // it has not the code, or not the call's input; another may
  when_idle,  // once it has nothing else to do
  now,
};

/// Guarded by its owner. `Call` outlives its place here.
template <typename Call>
class CallQueue {
 public:
  void push(Call& call) { calls_.push_back(&call); }
  /// It had been taken, and provably did not run.
  void push_front(Call& call) { calls_.push_front(&call); }
  /// The first call whose turn it is; null: there is none. A call that waits for the worker to be
  /// idle is not overtaken there: with short calls coming for ever it never would be.
  template <typename TurnOf>
  [[nodiscard]] Call* take(TurnOf turn_of) {
    for (auto at = calls_.begin(); at != calls_.end(); ++at) {
      Call* const call = *at;
      const Turn turn = turn_of(*call);
      if (turn == Turn::never) continue;
      if (turn == Turn::when_idle) return nullptr;
      calls_.erase(at);
      return call;
    }
    return nullptr;
  }
  /// Out of the queue, in their order.
  template <typename Which>
  [[nodiscard]] std::deque<Call*> take_all_that(Which which) {
    std::deque<Call*> taken;
    std::erase_if(calls_, [&](Call* call) {
      const bool goes = which(*call);
      if (goes) taken.push_back(call);
      return goes;
    });
    return taken;
  }
  /// False: it is not here.
  bool remove(const Call& call) {
    const auto found = std::find(calls_.begin(), calls_.end(), &call);
    if (found == calls_.end()) return false;
    calls_.erase(found);
    return true;
  }
  template <typename Each>
  void for_each(Each each) const {
    for (const Call* call : calls_) each(*call);
  }
  [[nodiscard]] std::deque<Call*> take_all() {
    std::deque<Call*> all;
    all.swap(calls_);
    return all;
  }
  [[nodiscard]] std::size_t size() const { return calls_.size(); }

 private:
  std::deque<Call*> calls_;
};

/// Calls that are expected to last longer wait in the queue, where any worker takes them.
using lane_client::short_run_in_program;
constexpr std::chrono::microseconds longest_backlog{200};
constexpr unsigned most_in_lane = 64;  // more gain nothing, and what they touch fills a cache

/// Negative: not known.
struct UsualRuns {
  std::chrono::nanoseconds of_call{-1};  // that shall be sent
  std::chrono::nanoseconds of_last{-1};  // that was sent last
};
/// Of a call for a worker that has its code, and `in_lane` calls already.
[[nodiscard]] inline Turn turn_behind(std::uint64_t in_lane, bool at_most_once, UsualRuns usual) {
  if (in_lane == 0) return Turn::now;
  if (at_most_once) return Turn::when_idle;  // it could not be taken out again
  const auto longer = std::max(usual.of_call, usual.of_last);
  if (std::min(usual.of_call, usual.of_last).count() < 0 || longer > short_run_in_program)
    return Turn::when_idle;
  const auto fits =
      std::chrono::nanoseconds(longest_backlog) / std::max(longer, std::chrono::nanoseconds(500));
  const auto most = std::min<std::uint64_t>(static_cast<std::uint64_t>(fits), most_in_lane);
  return in_lane < most ? Turn::now : Turn::when_idle;
}

}  // namespace orchid::sdk
