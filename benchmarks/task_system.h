// benchmarks/task_system.h: rivals in Python (benchmarks/task_systems.py): graphs of tasks, on the
// cores of this program.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "harness/bench.h"
#include "processes/child_process.h"

namespace orchid::bench {

/// Its processes end with it. Used by one thread.
class TaskSystem {
 public:
  /// `name`: as task_systems.py has it. It takes tasks when this returns. Errors: `not_found`: it
  /// is not installed; `timed_out`, `system`.
  [[nodiscard]] static Result<TaskSystem> start(const std::string& name, int cores);

  TaskSystem(TaskSystem&&) = default;
  TaskSystem& operator=(TaskSystem&&) = delete;
  /// It ends its own processes when nobody asks it any more.
  ~TaskSystem();

  struct Walk {
    std::uint64_t tasks = 0;
    std::uint64_t result = 0;
    std::chrono::duration<double, std::micro> took{};
  };
  /// `graph`: as the benchmark's script takes it. Errors: `timed_out`, `unreachable`, `internal`.
  [[nodiscard]] Result<Walk> walk(const std::string& graph);

 private:
  TaskSystem(UniqueFd input, UniqueFd output, processes::ChildProcess process)
      : input_(std::move(input)), output_(std::move(output)), process_(std::move(process)) {}
  [[nodiscard]] Result<std::string> line(std::chrono::seconds patience);

  UniqueFd input_;   // its, to write
  UniqueFd output_;  // its, to read
  std::string read_;
  processes::ChildProcess process_;
};

/// The rival, if it is installed; else what would help is said, and its rows are left out. `what`:
/// its name for people.
[[nodiscard]] std::optional<TaskSystem> find_rival(const std::string& name, const std::string& what,
                                                   int cores);
/// The row of the rival `name`.
[[nodiscard]] Description description_of_rival(const std::string& name, std::string what);
/// How long it needs for a task of `graph`, which comes to `expected`, in microseconds. `system`
/// outlives it.
[[nodiscard]] Round rival_round(TaskSystem& system, std::string graph, std::uint64_t expected);
/// A task of ours costs a twentieth of a rival's at most.
[[nodiscard]] std::vector<Promise> promises_against_rivals();

}  // namespace orchid::bench
