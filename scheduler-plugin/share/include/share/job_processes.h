// share/job_processes.h: the processes of a batch job on this node, found in /proc without any
// privilege: by the environment that Slurm has given them, and by their parents.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/clock.h"
#include "protocol/core_list.h"
#include "share/core_usage.h"

namespace orchid::share {

/// What Slurm says in a process's environment of the step that it belongs to.
struct StepEnvironment {
  std::uint64_t job = 0;  // 0: of none
  std::string step;       // empty: the batch script
  std::string node;       // as Slurm calls it; empty: not said
  std::optional<std::uint32_t> cpus;
  friend bool operator==(const StepEnvironment&, const StepEnvironment&) = default;
};
/// `text`: variables, each with a zero byte at its end, as /proc has them.
[[nodiscard]] StepEnvironment parse_step_environment(std::string_view text);
/// Job and step in the title of the process that looks after a step: "slurmstepd: [17.3]", or
/// "[17.batch]". Nothing: it is no such title.
[[nodiscard]] std::optional<StepEnvironment> parse_step_title(std::string_view command_line);

/// For how long a job has run, as far as this node's processes show it.
struct JobAge {
  std::chrono::seconds at_least{0};
  /// The process that tells it was there from the job's start on; otherwise it is of a later step.
  bool from_the_start = false;
  friend bool operator==(const JobAge&, const JobAge&) = default;
};
/// By the oldest process here that looks after a step of the job: the machine's running time, which
/// no wrong clock changes. Nothing: there is none.
[[nodiscard]] std::optional<JobAge> age_of_job(std::uint64_t job);

/// Owned by one thread.
class JobProcesses {
 public:
  struct Options {
    std::uint64_t job = 0;
    std::string node;      // processes of another node of one machine are left out
    std::string own_step;  // and those of this step: the share itself
    CoreList job_cores;
  };
  explicit JobProcesses(Options options) : options_(std::move(options)) {}

  /// Whether a process or thread has been started since the last `look`, or one that was new then
  /// may have become a step's program. Costs a few microseconds.
  [[nodiscard]] bool worth_a_look(MonotonicTime now) const;
  [[nodiscard]] std::vector<StepProcess> look(MonotonicTime now);

 private:
  struct Known {
    std::optional<StepEnvironment> member;  // of a step of the job; nothing: not, as far as we know
    MonotonicTime first_seen;
    MonotonicTime ask_again;  // of one that is no member: a process becomes one when it is exec'd
    bool present = true;
  };
  void classify(pid_t pid, Known& known, MonotonicTime now) const;
  [[nodiscard]] static std::optional<StepEnvironment> step_of(pid_t pid, bool ask_above);

  Options options_;
  std::unordered_map<pid_t, Known> known_;
  MonotonicTime ask_again_ = MonotonicTime::max();  // the first of those that are new
  std::uint64_t newest_ = 0;                        // process or thread, when they were looked at
};

}  // namespace orchid::share
