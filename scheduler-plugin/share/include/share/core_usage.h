// share/core_usage.h: which cores of a job its steps use, from what is known of its processes. No
// I/O and no clock.
//
// A step that Slurm (or the program itself) has bound uses the cores that it is bound to, as long
// as its processes live. One that is not bound uses as many cores as Slurm gave it, wherever they
// are. The batch script is given all of the job's cores, and mostly only waits: of it, and of what
// it starts itself, the processor time counts.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "protocol/core_list.h"

namespace orchid::share {

/// A process of the job on this node that is none of the share's.
struct StepProcess {
  pid_t pid = 0;
  std::string step;  // "3"; empty: the batch script's, or an interactive shell's
  std::optional<std::uint32_t> step_cpus;  // that Slurm gave that step on this node
  CoreList bound;      // cores of its threads that may run on some of the job's cores only
  bool loose = false;  // it has threads that may run on all of them
  std::chrono::nanoseconds processor_time{0};  // that it has used so far
  std::chrono::nanoseconds children_time{0};   // the same of its children that have ended
};

struct CoresUsed {
  CoreList cores;           // these
  std::uint32_t loose = 0;  // and so many others, whichever
  friend bool operator==(const CoresUsed&, const CoresUsed&) = default;
};

/// Owned by one thread.
class CoreUsage {
 public:
  /// Processor time is looked at over so long at least: the kernel counts it in ticks of 10 ms.
  static constexpr std::chrono::milliseconds window{500};
  /// What is less than so much of a core is the noise of a script that waits.
  static constexpr double noise = 0.15;

  explicit CoreUsage(CoreList job_cores) : job_cores_(std::move(job_cores)) {}
  [[nodiscard]] CoresUsed look(MonotonicTime now, const std::vector<StepProcess>& processes);

 private:
  [[nodiscard]] std::uint32_t busy_loose(MonotonicTime now,
                                         const std::vector<StepProcess>& processes);

  CoreList job_cores_;
  std::chrono::nanoseconds total_{0};  // of processes outside of numbered steps, at `since_`
  std::map<pid_t, std::chrono::nanoseconds> bound_;  // of those of them that are bound
  std::optional<MonotonicTime> since_;
  std::uint32_t busy_ = 0;
};

}  // namespace orchid::share
