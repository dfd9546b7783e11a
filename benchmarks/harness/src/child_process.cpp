#include "harness/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/unique_fd.h"

namespace orchid::bench {

namespace {

/// In the child, between fork and exec.
[[noreturn]] void become(const ChildProcess::Options& options, pid_t parent,
                         const sigset_t& mask_of_parent) {
  // A signal that comes before exec must end this copy, not run the parent's handler in it.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask_of_parent, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (options.core >= 0) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(options.core, &mask);
    ::sched_setaffinity(0, sizeof mask, &mask);
  }
  if (!options.output_file.empty()) {
    const int file =
        ::open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ::dup2(file, STDOUT_FILENO) < 0 || ::dup2(file, STDERR_FILENO) < 0)
      ::_exit(127);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  for (const std::string& variable : options.environment)
    ::putenv(const_cast<char*>(variable.c_str()));
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const Options& options) {
  const pid_t parent = ::getpid();
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become(options, parent, before);
  const auto failed = fail_errno("fork");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return failed;
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    stop();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

ChildProcess::~ChildProcess() { stop(); }

void ChildProcess::stop(std::chrono::milliseconds patience) {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  if (auto status = wait(patience); !status && pid_ >= 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
}

Result<int> ChildProcess::wait(std::chrono::milliseconds patience) {
  if (pid_ < 0) return fail(ErrorCode::not_found, "the process has been waited for");
  const UniqueFd handle{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  pollfd ended{.fd = handle.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, static_cast<int>(patience.count())) == 0) {
    return fail(ErrorCode::timed_out,
                fmt::format("process {} still runs after {} ms", pid_, patience.count()));
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return fail_errno("waitpid");
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<std::string> output_of(const ChildProcess::Options& options,
                              std::chrono::milliseconds patience) {
  ChildProcess::Options redirected = options;
  redirected.output_file =
      std::filesystem::temp_directory_path() / ("orchid-bench-" + random_hex(8));
  auto child = ChildProcess::start(redirected);
  if (!child) return fail(std::move(child.error()));
  const auto status = child->wait(patience);
  child->stop();
  const auto content = read_file(redirected.output_file, 64_MiB);
  std::error_code ignored;  // a leftover file in the temporary directory is no reason to fail
  std::filesystem::remove(redirected.output_file, ignored);
  if (!status) return fail(Failure(status.error()).while_doing(options.command[0]));
  std::string text = content ? std::string(as_text(*content)) : "";
  if (*status != 0) {
    return fail(ErrorCode::internal,
                fmt::format("{} ended with status {}: {}", options.command[0], *status, text));
  }
  return text;
}

}  // namespace orchid::bench
