#include "processes/process_end.h"

#include <sys/wait.h>

#include <cstring>

namespace orchid::processes {

std::string describe(const ProcessEnd& end) {
  if (end.signal == 0) return "exit status " + std::to_string(end.status);
  return "signal " + std::to_string(end.signal) + " (" + ::strsignal(end.signal) + ")";
}

ProcessEnd end_from_wait_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.signal = WTERMSIG(wait_status)};
  return {.status = WEXITSTATUS(wait_status)};
}

}  // namespace orchid::processes
