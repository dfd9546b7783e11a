// executor_process.h: starts orchid-executor for one grant: as a user who is nobody else, in the
// control groups of the job, on its cores, without any right of ours.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/core_list.h"

namespace orchid::site {

/// Numbers under which an executor finds what it is given.
constexpr int feed_number = 3;
constexpr int token_number = 4;

struct ExecutorStart {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  uid_t uid = 0;                       // the group has the same number; never 0
  CoreList cores;
  std::vector<std::filesystem::path> groups;  // to be in, all of them
  int feed = -1;                              // becomes `feed_number`; -1: none
  std::string token;                          // to be read at `token_number`; may be empty
};

/// Owned by the service's thread, the process's only one, which must outlive it: the kernel kills
/// the executor, and with it all that it has started, when that thread ends. Killed at the end of
/// this object's life, which alone waits for its end.
class ExecutorProcess {
 public:
  /// A process that is about to become the executor: in the job's control group and on its cores,
  /// where the job's own processes may be in its way for long. Errors: `system`.
  [[nodiscard]] static Result<ExecutorProcess> start(const ExecutorStart& start);
  /// Readable when `started` can tell; -1: it has.
  [[nodiscard]] int starting() const { return faults_.get(); }
  /// Whether it has become the executor. Errors: `system`, with the step that failed.
  [[nodiscard]] Result<void> started();
  ExecutorProcess(ExecutorProcess&& other) noexcept;
  ExecutorProcess& operator=(ExecutorProcess&&) = delete;
  ~ExecutorProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// A pidfd: readable once it has ended.
  [[nodiscard]] int descriptor() const { return process_.get(); }
  void send_signal(int number) const;
  /// The wait status when it has ended. Never blocks.
  [[nodiscard]] std::optional<int> reap();

 private:
  ExecutorProcess(pid_t pid, UniqueFd process, UniqueFd faults)
      : pid_(pid), process_(std::move(process)), faults_(std::move(faults)) {}
  pid_t pid_ = 0;  // 0: reaped, or moved away
  UniqueFd process_;
  UniqueFd faults_;  // ends when it becomes the executor
};

}  // namespace orchid::site
