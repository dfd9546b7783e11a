// data/fair_wait.h: how long to wait for another process, when this one may have stood still
// itself.
#pragma once
#include <algorithm>
#include <chrono>

#include "foundation/clock.h"

namespace orchid::gateway {

/// A machine that stands still (a virtual one that is moved, or has no memory for a while) stops
/// both ends. Whoever runs first again finds that the time is over, and would blame the other one,
/// who had no time to answer. So the time is counted in slices, and one whose end is noticed late
/// does not count. Pure; owned by one thread.
class FairWait {
 public:
  struct Options {
    std::chrono::milliseconds slice{1'000};
    unsigned slices = 5;
    std::chrono::milliseconds most{60'000};  // however often it is late
  };
  FairWait(const Options& options, MonotonicTime now)
      : options_(options), look_at_(now + options.slice), give_up_(now + options.most) {}

  /// When to look next.
  [[nodiscard]] MonotonicTime look_at() const { return look_at_; }
  /// One does. True: the other one has had its time.
  [[nodiscard]] bool is_over(MonotonicTime now) {
    const bool is_late = now - look_at_ >= options_.slice;
    if (!is_late) ++counted_;
    look_at_ = std::min(now + options_.slice, give_up_);
    return counted_ >= options_.slices || now >= give_up_;
  }

 private:
  Options options_;
  MonotonicTime look_at_;
  MonotonicTime give_up_;
  unsigned counted_ = 0;
};

}  // namespace orchid::gateway
