#include "opened_files.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "processes/process_end.h"

namespace orchid::gpu_check {
namespace {

constexpr int of_system_call = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr unsigned long wanted_options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
                                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
constexpr unsigned looks_at_once = 200;
constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 50'000};

/// Between fork and exec: system calls only.
const char* be_watched(const void*) noexcept {
  return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? nullptr : "being watched (ptrace)";
}

/// Ends with the program: whatever it has stopped goes with PTRACE_O_EXITKILL or by its owner.
class Watch {
 public:
  explicit Watch(pid_t program) : program_(program) {}

  Result<std::vector<OpenedFile>> run(std::chrono::steady_clock::time_point end) {
    unsigned looks = 0;
    while (!ended_) {
      int status = 0;
      const pid_t thread = ::waitpid(-1, &status, __WALL | WNOHANG);
      if (thread < 0 && errno != EINTR) return fail_errno("waiting for the driver's program");
      if (thread > 0) {
        looks = 0;
        if (auto seen = happened(thread, status); !seen) return fail(std::move(seen.error()));
        continue;
      }
      if (std::chrono::steady_clock::now() > end)
        return fail(ErrorCode::timed_out, "the bare driver's program has not ended in time");
      if (++looks > looks_at_once) ::nanosleep(&between_looks, nullptr);
    }
    if (status_ != 0)
      return fail(ErrorCode::internal,
                  "the bare driver's program has failed under watch, with " +
                      processes::describe(processes::end_from_wait_status(status_)));
    return std::move(files_);
  }

 private:
  /// A stop of a thread, or an end.
  Result<void> happened(pid_t thread, int status) {
    if (!WIFSTOPPED(status)) {
      open_calls_.erase(thread);
      if (thread != program_) return {};
      ended_ = true;
      status_ = status;
      return {};
    }
    int signal = WSTOPSIG(status);
    if (!is_set_up_) {
      if (::ptrace(PTRACE_SETOPTIONS, thread, nullptr, wanted_options) != 0)
        return fail_errno("watching the driver's program (ptrace)");
      is_set_up_ = true;
      signal = 0;
    } else if (signal == of_system_call) {
      system_call(thread);
      signal = 0;
    } else if (signal == SIGTRAP || signal == SIGSTOP) {
      signal = 0;  // an event, or the first stop of a new thread
    }
    // Another thread may have ended the process meanwhile.
    if (::ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<long>(signal)) != 0 && errno != ESRCH)
      return fail_errno("watching the driver's program (ptrace)");
    return {};
  }

  void system_call(pid_t thread) {
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      if (info.entry.nr == SYS_openat) open_calls_[thread] = static_cast<int>(info.entry.args[2]);
#ifdef SYS_open
      if (info.entry.nr == SYS_open) open_calls_[thread] = static_cast<int>(info.entry.args[1]);
#endif
      return;
    }
    const auto call = open_calls_.find(thread);
    if (info.op != PTRACE_SYSCALL_INFO_EXIT || call == open_calls_.end()) return;
    const int flags = call->second;
    open_calls_.erase(call);
    if (info.exit.rval >= 0) note(thread, info.exit.rval, (flags & O_ACCMODE) != O_RDONLY);
  }

  void note(pid_t thread, std::int64_t descriptor, bool for_writing) {
    const std::string of_process = "/proc/" + std::to_string(thread);
    std::error_code error;
    std::string path =
        std::filesystem::read_symlink(of_process + "/fd/" + std::to_string(descriptor), error);
    if (error || !path.starts_with('/')) return;
    // The file system's own names of what the program sees as itself.
    const std::string own = "/proc/" + std::to_string(program_) + "/";
    if (path.starts_with(own)) path = "/proc/self/" + path.substr(own.size());
    const auto known = std::ranges::find(files_, path, &OpenedFile::path);
    if (known == files_.end())
      files_.push_back({std::move(path), for_writing});
    else
      known->for_writing = known->for_writing || for_writing;
  }

  pid_t program_;
  bool is_set_up_ = false;
  bool ended_ = false;
  int status_ = 0;
  std::map<pid_t, int> open_calls_;  // flags of the open that a thread is in
  std::vector<OpenedFile> files_;
};

}  // namespace

Result<std::vector<OpenedFile>> files_opened_by(processes::ProgramStart program,
                                                std::chrono::milliseconds longest) {
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  program.descriptors.push_back({.from = null.get(), .as = STDOUT_FILENO});
  program.last_step = {.run = be_watched, .context = nullptr};
  auto child = processes::ChildProcess::start(program);
  if (!child) return fail(std::move(child.error()));
  Watch watch(child->pid());
  auto files = watch.run(std::chrono::steady_clock::now() + longest);
  // The watch has reaped it.
  if (files || files.error().code == ErrorCode::internal) child->release();
  return files;
}

}  // namespace orchid::gpu_check
