// poll_schedule.h: when slurmctld is asked next, so that it is never asked more often than the site
// allows.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <random>

#include "foundation/clock.h"

namespace orchid::slurm {

/// What one poll may need at most.
constexpr std::uint32_t most_requests_per_poll = 4;

/// A value of one thread; reads no clock.
class PollSchedule {
 public:
  struct Options {
    std::chrono::milliseconds interval{2000};           // between polls
    std::chrono::milliseconds longest_backoff{60'000};  // while slurmctld does not answer
    double jitter = 0.1;  // each pause is longer or shorter by up to this part of it
    std::uint32_t requests_per_minute = 120;  // at least most_requests_per_poll
  };
  PollSchedule(Options options, std::uint64_t seed) : options_(options), random_(seed) {}

  /// A poll has ended, with so many requests.
  void succeeded(MonotonicTime now, std::uint32_t requests);
  /// Doubles the pause.
  void failed(MonotonicTime now, std::uint32_t requests);
  /// When the next poll may start; the first at once.
  [[nodiscard]] MonotonicTime next() const { return next_; }
  /// The pause before jitter and budget.
  [[nodiscard]] std::chrono::milliseconds pause() const { return pause_; }
  /// Requests of the last minute.
  [[nodiscard]] std::uint32_t recent_requests(MonotonicTime now) const;

 private:
  void plan(MonotonicTime now, std::uint32_t requests);

  Options options_;
  std::mt19937_64 random_;
  std::chrono::milliseconds pause_{0};
  std::uint32_t failures_ = 0;
  MonotonicTime next_{};
  std::deque<MonotonicTime> requests_;  // of the last minute; the oldest first
};

}  // namespace orchid::slurm
