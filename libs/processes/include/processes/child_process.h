// processes/child_process.h: a program that runs as a child of ours. The only place that starts
// one.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "processes/process_end.h"
#include "processes/program_start.h"

namespace orchid::processes {

/// Why a child has not become its program.
struct StartFault {
  const char* step = nullptr;  // null: the program itself could not be started
  int error = 0;               // errno
};

/// Whether a child has become its program. Owned by one thread.
class StartReport {
 public:
  explicit StartReport(UniqueFd report) : report_(std::move(report)) {}
  /// Readable when `outcome` can tell; -1: it has.
  [[nodiscard]] int descriptor() const { return report_.get(); }
  /// Blocks until it is known. Errors: `system`, with the step that failed; the child ends then
  /// with status 127.
  [[nodiscard]] Result<void> outcome();
  /// The same; nothing: it has become its program.
  [[nodiscard]] std::optional<StartFault> fault();

 private:
  UniqueFd report_;  // the end of a pipe, which the child's exec closes
};

struct StartingChild;

/// Owned by one thread. Killed, with its process group if that is its own, when it is destroyed,
/// which waits for a second at most; what the kernel does not let go of by then (a file system that
/// hangs) is reaped by a later start.
class ChildProcess {
 public:
  /// Returns when the child has become the program. Errors: `system`, with the step that failed.
  [[nodiscard]] static Result<ChildProcess> start(const ProgramStart& program);
  /// Does not wait for that: where the child may not get a core soon, and we have other things to
  /// do. Errors: `system`.
  [[nodiscard]] static Result<StartingChild> begin(const ProgramStart& program);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// A pidfd: readable once it has ended.
  [[nodiscard]] int descriptor() const { return process_.get(); }
  /// To it alone. Nothing happens when it has ended.
  void send_signal(int number) const;
  /// It, and its process group if that is its own.
  void kill() const;
  /// Whether a signal has stopped it (SIGSTOP), and nobody has continued it.
  [[nodiscard]] bool is_stopped() const;
  /// How it ended, if it has; it is nobody's then. Never blocks.
  [[nodiscard]] std::optional<ProcessEnd> reap();
  /// The same, after `longest` at the latest.
  [[nodiscard]] std::optional<ProcessEnd> wait(std::chrono::milliseconds longest);
  /// It goes on without this object, and somebody else reaps it.
  pid_t release();

 private:
  ChildProcess(pid_t pid, bool leads_group, UniqueFd process)
      : pid_(pid), leads_group_(leads_group), process_(std::move(process)) {}
  [[nodiscard]] static Result<StartingChild> fork_and_exec(const ProgramStart& program,
                                                           bool we_stand_still);
  void end();

  pid_t pid_ = -1;  // negative: reaped, released or moved away
  bool leads_group_ = false;
  UniqueFd process_;  // a pidfd
};

struct StartingChild {
  ChildProcess process;
  StartReport report;
};

}  // namespace orchid::processes
