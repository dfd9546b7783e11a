// foundation/token_bucket.h: how often something may happen: so many times at once, then at a
// steady rate.
#pragma once
#include <algorithm>
#include <chrono>

#include "foundation/clock.h"

namespace orchid {

/// Pure. Full at first.
class TokenBucket {
 public:
  struct Rate {
    int per_second = 1;
    int burst = 1;  // at once, after a rest
  };
  explicit constexpr TokenBucket(Rate rate) : rate_(rate) {}

  /// When there is a token; not later than `now`: there is one.
  [[nodiscard]] MonotonicTime ready_at() const { return full_at_ - each() * (rate_.burst - 1); }
  [[nodiscard]] bool is_full(MonotonicTime now) const { return full_at_ <= now; }
  /// False, and nothing changes: there is none.
  [[nodiscard]] bool take(MonotonicTime now) {
    if (ready_at() > now) return false;
    full_at_ = std::max(full_at_, now) + each();
    return true;
  }

 private:
  [[nodiscard]] MonotonicTime::duration each() const {
    return MonotonicTime::duration(std::chrono::seconds(1)) / rate_.per_second;
  }

  Rate rate_;
  MonotonicTime full_at_;
};

}  // namespace orchid
