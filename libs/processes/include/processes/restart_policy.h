// processes/restart_policy.h: when a program that has ended is started again. Decisions only: no
// clock, no process.
#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "foundation/clock.h"

namespace orchid::processes {

/// What counts is how often the program has ended within the last `window`, and since it last did
/// what it is for.
struct RestartPolicy {
  unsigned at_once = 0;                           // so many restarts come without a pause
  std::chrono::milliseconds first_pause{1000};    // before the next one; later ones double it …
  std::chrono::milliseconds longest_pause{1000};  // … up to this
  std::chrono::milliseconds window{60'000};       // more than the longest pause
  unsigned enough = 0;                            // so many ends: it is given up; 0: never
};

/// Of one program. Owned by one thread.
class Restarts {
 public:
  explicit Restarts(RestartPolicy policy) : policy_(policy) {}
  /// It has ended, or could not be started: the pause until it is started again, or nothing: it is
  /// given up.
  [[nodiscard]] std::optional<std::chrono::milliseconds> ended(MonotonicTime now);
  /// It has done what it is for: what was before does not count any more.
  void runs_well() { ends_.clear(); }
  /// How often it has ended, as far as that counts.
  [[nodiscard]] std::size_t ends() const { return ends_.size(); }

 private:
  RestartPolicy policy_;
  std::vector<MonotonicTime> ends_;  // oldest first
};

}  // namespace orchid::processes
