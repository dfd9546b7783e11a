// supervisor/liveness.h: whether a child that says nothing still lives. Decisions only: no clock.
#pragma once
#include <chrono>
#include <optional>

#include "foundation/clock.h"

namespace orchid::cli {

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
