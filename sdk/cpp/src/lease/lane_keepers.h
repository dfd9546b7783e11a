// lease/lane_keepers.h: who drives lanes also while it is elsewhere, and has to leave them when
// their lease ends.
#pragma once
#include <algorithm>
#include <mutex>
#include <vector>

namespace orchid::sdk {

/// Drives lanes between two visits of its thread.
class LaneKeeper {
 public:
  LaneKeeper() = default;
  LaneKeeper(const LaneKeeper&) = delete;
  LaneKeeper& operator=(const LaneKeeper&) = delete;
  virtual ~LaneKeeper() = default;
  /// Any thread. Waits for a visit that goes on.
  virtual void leave_lanes() = 0;
};

/// Those of one lease. Any thread.
class LaneKeepers {
 public:
  void add(LaneKeeper& keeper) {
    const std::lock_guard lock(mutex_);
    keepers_.push_back(&keeper);
  }
  /// `keeper` is not called any more when this returns.
  void remove(LaneKeeper& keeper) {
    const std::lock_guard lock(mutex_);
    std::erase(keepers_, &keeper);
  }
  void leave_lanes() {
    const std::lock_guard lock(mutex_);
    std::ranges::for_each(keepers_, &LaneKeeper::leave_lanes);
  }

 private:
  std::mutex mutex_;
  std::vector<LaneKeeper*> keepers_;  // guarded by mutex_
};

}  // namespace orchid::sdk
