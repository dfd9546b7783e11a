#include "processes/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "foundation/child_setup.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

constexpr int control_number = 3;
constexpr rlim_t stack_bytes = 8UL << 20;

/// Between fork and exec: system calls only.
void become(const char* program, char* const* arguments, char* const* environment, int control,
            SchedulingClass scheduling) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  default_signals();
  // A batch system sends it to all processes of a job at once. When they end, and how, is for the
  // agent to say: a call would seem to have killed its worker otherwise.
  ::signal(SIGTERM, SIG_IGN);
  unblock_signals();
  be_first_to_lose_memory();
  if (scheduling == SchedulingClass::idle) enter_idle_class();
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = std::min(stack_bytes, stack.rlim_max);
  ::setrlimit(RLIMIT_STACK, &stack);
  read_nothing();
  if (control == control_number)
    ::fcntl(control, F_SETFD, 0);
  else
    ::dup2(control, control_number);
  ::syscall(SYS_close_range, control_number + 1, ~0U, 0);
  ::execve(program, arguments, environment);
  ::_exit(127);
}

}  // namespace

Result<StartedChild> start_child(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments,
                                 const ChildSettings& settings) {
  if (::access(program.c_str(), X_OK) != 0)
    return fail(ErrorCode::not_found,
                program.string() + " is not there or cannot be executed; reinstall Orchid");
  auto pair = make_packet_pair();
  if (!pair) return fail(std::move(pair.error()));
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> pointers = pointers_to(words);
  std::vector<std::string> variables = settings.environment;
  const std::vector<char*> environment = pointers_to(variables);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0)
    become(program.c_str(), pointers.data(), environment.data(), pair->second.get(),
           settings.scheduling);
  return StartedChild{pid, std::move(pair->first)};
}

}  // namespace orchid::executor
