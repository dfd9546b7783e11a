// calls/call_counts.h: how the calls of one version of a function have ended.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "protocol/outcome.h"

namespace orchid::gateway {

/// Since the gateway's start. The threads that run calls add, any thread reads: relaxed counters,
/// nothing depends on them.
class CallCounts {
 public:
  void add(Outcome outcome) {
    ended_[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  }
  /// Which code a call ran that has given its output.
  void ran(bool quick_code) {
    tier_.store(quick_code ? Tier::quick : Tier::o3, std::memory_order_relaxed);
  }
  enum class Tier : std::uint8_t { unknown, quick, o3 };
  /// Of the last such call.
  [[nodiscard]] Tier tier() const { return tier_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t ended(Outcome outcome) const {
    return ended_[static_cast<std::size_t>(outcome)].load(std::memory_order_relaxed);
  }
  /// A call has ended its worker, whose replacement the executor gives out after `delay`: more than
  /// none when workers have been dying one after the other.
  void worker_ended(std::chrono::milliseconds delay) {
    replacement_delay_ms_.store(delay.count(), std::memory_order_relaxed);
  }
  [[nodiscard]] std::chrono::milliseconds replacement_delay() const {
    return std::chrono::milliseconds(replacement_delay_ms_.load(std::memory_order_relaxed));
  }

 private:
  std::array<std::atomic<std::uint64_t>, outcome_count> ended_{};
  std::atomic<std::int64_t> replacement_delay_ms_{0};
  std::atomic<Tier> tier_{Tier::unknown};
};

}  // namespace orchid::gateway
