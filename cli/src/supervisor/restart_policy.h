// supervisor/restart_policy.h: when a program that ended is started again, and whether a silent one
// still lives. Decisions only: no clock, no process.
#pragma once
#include <chrono>
#include <deque>
#include <optional>

#include "foundation/clock.h"

namespace orchid::cli {

struct RestartLimits {
  std::size_t deaths = 5;           // this many …
  std::chrono::seconds window{10};  // … within this time: it will not get better
  std::chrono::milliseconds first_delay{
      100};  // of the second restart; the first is at once, later ones double it
  std::chrono::milliseconds longest_delay{2000};
};

/// Owned by the supervisor's thread; one for each child.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartLimits limits = {}) : limits_(limits) {}
  /// The child has ended: when to start it again, or nothing: give up.
  [[nodiscard]] std::optional<MonotonicTime> on_death(MonotonicTime now);

 private:
  RestartLimits limits_;
  std::deque<MonotonicTime> deaths_;  // within the window, oldest first
};

/// Owned by the supervisor's thread; one for each start of a child. A child that has once sent a
/// sign of life must go on.
class Liveness {
 public:
  explicit Liveness(std::chrono::seconds longest_silence) : longest_silence_(longest_silence) {}
  void heard(MonotonicTime now) { last_ = now; }
  /// We ourselves did not run for this long (stopped, suspended), so nobody was listening.
  void excuse(std::chrono::steady_clock::duration absence) {
    if (last_) *last_ += absence;
  }
  [[nodiscard]] bool is_silent(MonotonicTime now) const {
    return last_ && now - *last_ > longest_silence_;
  }
  /// When it will be silent unless it is heard before.
  [[nodiscard]] std::optional<MonotonicTime> due() const {
    if (!last_) return std::nullopt;
    return *last_ + longest_silence_;
  }

 private:
  std::chrono::seconds longest_silence_;
  std::optional<MonotonicTime> last_;
};

}  // namespace orchid::cli
