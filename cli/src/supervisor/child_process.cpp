#include "supervisor/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "foundation/child_setup.h"

namespace orchid::cli {
namespace {

constexpr int exec_failed = 127;

std::vector<std::string> environment_with(const ProgramStart& program) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    bool replaced = false;
    for (const auto& [name, value] : program.environment)
      replaced = replaced || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : program.environment) result.push_back(name + "=" + value);
  return result;
}

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(const char* path, char** arguments, char** environment, int inherited,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(exec_failed);  // it died before the line above
  unblock_signals();
  ::signal(SIGPIPE, SIG_DFL);
  read_nothing();
  if (inherited >= 0) ::fcntl(inherited, F_SETFD, 0);
  ::execve(path, arguments, environment);
  const char* reason = std::strerror(errno);
  (void)!::write(STDERR_FILENO, "orchid up: cannot start ", 24);
  (void)!::write(STDERR_FILENO, path, std::strlen(path));
  (void)!::write(STDERR_FILENO, ": ", 2);
  (void)!::write(STDERR_FILENO, reason, std::strlen(reason));
  (void)!::write(STDERR_FILENO, "\n", 1);
  ::_exit(exec_failed);
}

}  // namespace

std::string describe_wait_status(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  return "signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
}

Result<ChildProcess> ChildProcess::start(const ProgramStart& program) {
  std::vector<std::string> arguments = program.arguments;
  arguments.insert(arguments.begin(), program.path);
  std::vector<std::string> environment = environment_with(program);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0)
    become(program.path.c_str(), const_cast<char**>(argument_pointers.data()),
           const_cast<char**>(environment_pointers.data()), program.inherited_descriptor, parent);
  return ChildProcess(pid);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::send_signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

bool ChildProcess::is_stopped() const {
  siginfo_t info{};
  // WNOWAIT: it is told again as long as it holds.
  return pid_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::optional<int> ChildProcess::reap() {
  if (pid_ <= 0) return std::nullopt;
  int wait_status = 0;
  if (::waitpid(pid_, &wait_status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  return wait_status;
}

}  // namespace orchid::cli
