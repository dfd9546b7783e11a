#include "lanes/warm_workers.h"

#include <algorithm>

namespace orchid::executor {

std::vector<std::size_t> intruders(std::span<const WarmWorker> workers, MonotonicTime now) {
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < workers.size(); ++i)
    if (workers[i].runs_since && *workers[i].runs_since < now) running.push_back(i);
  if (running.empty()) return running;
  std::ranges::sort(running, {}, [&](std::size_t i) { return *workers[i].runs_since; });
  running.pop_back();
  return running;
}

std::vector<std::size_t> give_way(std::span<const WarmWorker> workers, ByteCount limit) {
  std::uint64_t kept = 0;
  std::vector<std::size_t> sleepers;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    kept += workers[i].memory.value;
    if (workers[i].sleeps) sleepers.push_back(i);
  }
  std::ranges::sort(sleepers, {}, [&](std::size_t i) { return workers[i].last_run; });
  std::vector<std::size_t> leaving;
  for (const std::size_t i : sleepers) {
    if (kept <= limit.value) break;
    kept -= workers[i].memory.value;
    leaving.push_back(i);
  }
  return leaving;
}

}  // namespace orchid::executor
