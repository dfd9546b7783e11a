// processes/process_end.h: how a process ended.
#pragma once
#include <string>

namespace orchid::processes {

struct ProcessEnd {
  int status = 0;  // its exit status, unless a signal has killed it
  int signal = 0;  // 0: none

  [[nodiscard]] bool ok() const { return status == 0 && signal == 0; }
  /// As a shell tells it: 128 + number after a signal.
  [[nodiscard]] int shell_status() const { return signal == 0 ? status : 128 + signal; }
};

/// "exit status 3", "signal 9 (Killed)".
[[nodiscard]] std::string describe(const ProcessEnd& end);

/// From what waitpid tells.
[[nodiscard]] ProcessEnd end_from_wait_status(int wait_status);

}  // namespace orchid::processes
