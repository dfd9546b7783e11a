// lanes/replacement_brake.h: how soon a worker that died is replaced, so that a function that
// always crashes starts no storm of forks.
#pragma once
#include <algorithm>
#include <chrono>

#include "foundation/clock.h"

namespace orchid::executor {

/// A token bucket: a burst of deaths costs nothing, a steady stream of them is slowed to
/// `per_second`. Pure; owned by the agent's thread.
class ReplacementBrake {
 public:
  static constexpr double burst = 32;
  static constexpr double per_second = 8;

  /// A worker has died: how long to wait before the next one is handed out.
  [[nodiscard]] std::chrono::milliseconds after_death(MonotonicTime now) {
    if (last_ != MonotonicTime{})
      tokens_ = std::min(burst,
                         tokens_ + std::chrono::duration<double>(now - last_).count() * per_second);
    last_ = now;
    tokens_ -= 1;
    if (tokens_ >= 0) return std::chrono::milliseconds(0);
    return std::chrono::milliseconds(static_cast<long>(-tokens_ / per_second * 1000));
  }
  [[nodiscard]] bool braking() const { return tokens_ < 0; }

 private:
  double tokens_ = burst;
  MonotonicTime last_;
};

}  // namespace orchid::executor
