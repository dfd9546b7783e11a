// calls/call_watch.h: what people see of a call that lasts, on a terminal.
#pragma once
#include <chrono>
#include <csignal>
#include <string>

#include "orchid/invocation.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// "[########------------]  42 %"; `fraction` from 0 to 1.
[[nodiscard]] std::string progress_bar(double fraction);

/// Shows how far a call says it is. From its first look on, Ctrl-C cancels the call before it ends
/// this process: a call that is watched would go on without it. Used by one thread.
class CallWatch {
 public:
  explicit CallWatch(Shell& shell) : shell_(shell) {}
  /// Takes the bar away; a Ctrl-C that came meanwhile ends the process here.
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  /// False: Ctrl-C was pressed.
  [[nodiscard]] bool look(const InvocationStatus& status);

 private:
  Shell& shell_;
  bool blocks_signal_ = false;
  sigset_t before_{};
};

/// `Invocation::wait`, with a bar where people watch.
[[nodiscard]] InvocationStatus wait_with_bar(Shell& shell, const Invocation& invocation,
                                             std::chrono::milliseconds timeout);

}  // namespace orchid::cli
