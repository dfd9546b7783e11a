// protocol/control_heartbeat.h: when a side of a control connection pings, and when it takes the
// other for lost.
#pragma once
#include <chrono>

#include "foundation/clock.h"

namespace orchid {

/// Owned by the thread of its connection; one for each connection.
class ControlHeartbeat {
 public:
  static constexpr std::chrono::seconds ping_after{1};  // of own silence
  static constexpr std::chrono::seconds lost_after{5};  // of the other's silence

  explicit ControlHeartbeat(MonotonicTime now) : sent_(now), heard_(now) {}
  void sent(MonotonicTime now) { sent_ = now; }
  void heard(MonotonicTime now) { heard_ = now; }
  [[nodiscard]] bool ping_due(MonotonicTime now) const { return now - sent_ >= ping_after; }
  [[nodiscard]] bool lost(MonotonicTime now) const { return now - heard_ >= lost_after; }

 private:
  MonotonicTime sent_;
  MonotonicTime heard_;
};

}  // namespace orchid
