#include "processes/restart_policy.h"

#include <algorithm>

namespace orchid::processes {

std::optional<std::chrono::milliseconds> Restarts::ended(MonotonicTime now) {
  std::erase_if(ends_, [&](MonotonicTime end) { return now - end > policy_.window; });
  ends_.push_back(now);
  if (policy_.enough != 0 && ends_.size() >= policy_.enough) return std::nullopt;
  if (ends_.size() <= policy_.at_once) return std::chrono::milliseconds(0);
  std::chrono::milliseconds pause = policy_.first_pause;
  for (std::size_t i = policy_.at_once + 1; i < ends_.size() && pause < policy_.longest_pause; ++i)
    pause *= 2;
  return std::min(pause, policy_.longest_pause);
}

}  // namespace orchid::processes
