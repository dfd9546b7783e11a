#include "supervisor/restart_policy.h"

#include <algorithm>

namespace orchid::cli {

std::optional<MonotonicTime> RestartPolicy::on_death(MonotonicTime now) {
  while (!deaths_.empty() && now - deaths_.front() > limits_.window) deaths_.pop_front();
  deaths_.push_back(now);
  if (deaths_.size() >= limits_.deaths) return std::nullopt;
  if (deaths_.size() == 1) return now;
  std::chrono::milliseconds delay = limits_.first_delay;
  for (std::size_t i = 2; i < deaths_.size() && delay < limits_.longest_delay; ++i) delay *= 2;
  return now + std::min(delay, limits_.longest_delay);
}

}  // namespace orchid::cli
