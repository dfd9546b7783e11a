// benchmarks/busy_workers.h: which workers do the work.
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/machine.h"

namespace orchid::bench {

[[nodiscard]] inline bool is_worker(pid_t process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
  return name.starts_with("orchid-worker");
}

/// Of `processes`, those of workers, the ones that use most of the cores during `work` first.
[[nodiscard]] inline std::vector<pid_t> busiest_workers(
    const std::function<std::vector<pid_t>()>& processes, const std::function<void()>& work) {
  std::map<pid_t, double> used;
  for (const pid_t one : processes())
    if (const auto time = cpu_time_of(one)) used[one] = static_cast<double>(time->count());
  work();
  std::vector<std::pair<double, pid_t>> all;
  for (const pid_t one : processes())
    if (const auto time = cpu_time_of(one); time && is_worker(one))
      all.emplace_back(static_cast<double>(time->count()) - used[one], one);
  std::ranges::sort(all, std::greater());
  std::vector<pid_t> workers;
  for (const auto& [time, one] : all) workers.push_back(one);
  return workers;
}

}  // namespace orchid::bench
