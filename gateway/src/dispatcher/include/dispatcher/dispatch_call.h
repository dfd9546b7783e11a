// dispatcher/dispatch_call.h: a call that a dispatcher has taken and not finished, and what it
// knows of the module that it runs.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "calls/call.h"
#include "lane_client/policy.h"
#include "protocol/lane_messages.h"

namespace orchid::gateway {

struct DispatchFunction;
struct DispatchCall;
class DispatchLane;
/// Nodes move between lists without being copied: from a function's waiting calls to the
/// dispatcher's sent ones and back.
using CallList = std::list<DispatchCall>;

/// Data that a call is given, and that its executor does not have: as was last said, then.
struct Missed {
  LaneNotAttached what;
  MonotonicTime at;
};

struct DispatchCall {
  Call call;
  CallDone done;
  DispatchFunction* function = nullptr;
  DispatchLane* lane = nullptr;  // null: waiting
  CallList* home = nullptr;      // the list that it is in, at `self`
  CallList::iterator self;
  std::uint64_t number = 0;   // order of arrival
  std::uint64_t request = 0;  // in its lane
  lane_client::CallHistory history;
  bool is_short = false;  // as it was counted in the demand
  std::chrono::nanoseconds expected{0};
  bool needs_clear_lane = false;
  unsigned failed_loads = 0;  // of its module, by no fault of the module
  std::optional<Missed> missed;
  MonotonicTime due;           // when something must be done about it
  std::size_t heap_place = 0;  // of DispatchDeadlines
  CallTimings timings;

  [[nodiscard]] bool is_waiting() const { return lane == nullptr; }
};

/// One module, by its digest. Owned by the dispatcher.
struct DispatchFunction {
  std::uint64_t number = 0;                             // never used again
  std::shared_ptr<const FunctionVersion> version;       // null when no call is live
  std::vector<lane_client::RunTimeEstimate> estimates;  // by entry
  CallList waiting;                                     // oldest first
  std::uint64_t waiting_key = 0;                        // in the dispatcher's index; 0: none waits
  std::size_t live = 0;                                 // waiting and running

  [[nodiscard]] lane_client::RunTimeEstimate& estimate(std::uint16_t entry) {
    if (entry >= estimates.size()) estimates.resize(std::size_t{entry} + 1);
    return estimates[entry];
  }
};

}  // namespace orchid::gateway
