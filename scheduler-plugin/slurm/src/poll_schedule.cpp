#include "poll_schedule.h"

#include <algorithm>

namespace orchid::slurm {
namespace {
constexpr std::chrono::minutes budget_time{1};
constexpr std::uint32_t most_doublings = 16;
}  // namespace

void PollSchedule::succeeded(MonotonicTime now, std::uint32_t requests) {
  failures_ = 0;
  pause_ = options_.interval;
  plan(now, requests);
}

void PollSchedule::failed(MonotonicTime now, std::uint32_t requests) {
  failures_ = std::min(failures_ + 1, most_doublings);
  pause_ = std::min(options_.interval * (1U << failures_),
                    std::max(options_.longest_backoff, options_.interval));
  plan(now, requests);
}

void PollSchedule::plan(MonotonicTime now, std::uint32_t requests) {
  std::uniform_real_distribution<double> part(1 - options_.jitter, 1 + options_.jitter);
  next_ = now + std::chrono::duration_cast<MonotonicTime::duration>(pause_ * part(random_));
  requests_.insert(requests_.end(), requests, now);
  while (!requests_.empty() && requests_.front() + budget_time <= now) requests_.pop_front();
  // The poll must fit with all that was asked in the minute before it.
  const std::size_t room =
      std::max(options_.requests_per_minute, most_requests_per_poll) - most_requests_per_poll;
  if (requests_.size() > room)
    next_ = std::max(next_, requests_[requests_.size() - room - 1] + budget_time);
}

std::uint32_t PollSchedule::recent_requests(MonotonicTime now) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      requests_, [now](MonotonicTime time) { return time + budget_time > now; }));
}

}  // namespace orchid::slurm
