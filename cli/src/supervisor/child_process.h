// supervisor/child_process.h: a program of ours that runs as a child and dies with its parent.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {

struct ProgramStart {
  std::string path;
  std::vector<std::string> arguments;                            // without the program's name
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  int inherited_descriptor = -1;                                 // stays open under the same number
};

/// How a child ended: "exit status 3", "signal 9 (Killed)".
[[nodiscard]] std::string describe_wait_status(int wait_status);

/// Owned by the supervisor's thread, which must be the process's only one while `start` runs, and
/// must outlive the child: the kernel kills the child when that thread ends. A child that still
/// runs at the end of this object's life is killed.
class ChildProcess {
 public:
  /// Standard input is /dev/null; a process group of its own, so that the terminal's Ctrl-C reaches
  /// only the parent. Errors: `system`.
  [[nodiscard]] static Result<ChildProcess> start(const ProgramStart& program);
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send_signal(int number) const;
  /// By SIGSTOP or the like, at this moment.
  [[nodiscard]] bool is_stopped() const;
  /// The wait status when it has ended. Never blocks. Afterwards there is no child any more.
  [[nodiscard]] std::optional<int> reap();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = 0;  // 0: reaped, or moved away
};

}  // namespace orchid::cli
