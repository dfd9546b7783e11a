#include "share/core_usage.h"

#include <algorithm>
#include <cmath>

namespace orchid::share {
namespace {

struct Step {
  CoreList bound;
  bool loose = false;
  std::optional<std::uint32_t> cpus;
};

std::map<std::string, Step> numbered_steps(const std::vector<StepProcess>& processes) {
  std::map<std::string, Step> steps;
  for (const StepProcess& process : processes) {
    if (process.step.empty()) continue;
    Step& step = steps[process.step];
    step.bound = united(step.bound, process.bound);
    step.loose = step.loose || process.loose;
    if (process.step_cpus) step.cpus = std::max(step.cpus.value_or(0), *process.step_cpus);
  }
  return steps;
}

}  // namespace

/// Cores that the unbound processes outside of numbered steps keep busy. The time of a process that
/// ends goes on to its parent, so that short ones count too.
std::uint32_t CoreUsage::busy_loose(MonotonicTime now, const std::vector<StepProcess>& processes) {
  if (since_ && now - *since_ < window) return busy_;
  std::chrono::nanoseconds total{0};
  std::chrono::nanoseconds used_by_bound{0};
  std::map<pid_t, std::chrono::nanoseconds> bound;
  for (const StepProcess& process : processes) {
    if (!process.step.empty()) continue;
    total += process.processor_time + process.children_time;
    if (process.loose) continue;
    bound.emplace(process.pid, process.processor_time);
    if (const auto known = bound_.find(process.pid); known != bound_.end())
      used_by_bound += process.processor_time - known->second;
  }
  if (since_) {
    const double cores =
        std::chrono::duration<double>(total - total_ - used_by_bound) / (now - *since_);
    busy_ = static_cast<std::uint32_t>(std::max(0.0, std::ceil(cores - noise)));
  }
  total_ = total;
  bound_ = std::move(bound);
  since_ = now;
  return busy_;
}

CoresUsed CoreUsage::look(MonotonicTime now, const std::vector<StepProcess>& processes) {
  CoresUsed used;
  for (const StepProcess& process : processes)
    if (process.step.empty()) used.cores = united(used.cores, process.bound);
  std::uint64_t loose = busy_loose(now, processes);
  for (const auto& [name, step] : numbered_steps(processes)) {
    used.cores = united(used.cores, step.bound);
    if (!step.loose) continue;
    const std::uint64_t given = step.cpus.value_or(static_cast<std::uint32_t>(job_cores_.size()));
    loose += given - std::min<std::uint64_t>(given, step.bound.size());
  }
  used.cores = common(job_cores_, used.cores);
  used.loose = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(loose, job_cores_.size() - used.cores.size()));
  return used;
}

}  // namespace orchid::share
