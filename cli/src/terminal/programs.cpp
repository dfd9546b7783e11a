#include "terminal/programs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "foundation/pipe.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {
namespace {

using std::chrono::steady_clock;

/// Destroyed on every way out.
class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Where the program's output goes; -1: where ours goes.
struct Outputs {
  int output = -1;
  int errors = -1;
};

Result<pid_t> spawn(const ProgramRun& run, Outputs outputs) {
  SpawnActions actions;
  if (outputs.output >= 0)
    ::posix_spawn_file_actions_adddup2(actions.get(), outputs.output, STDOUT_FILENO);
  if (outputs.errors >= 0)
    ::posix_spawn_file_actions_adddup2(actions.get(), outputs.errors, STDERR_FILENO);
  if (run.discard_errors)
    ::posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : run.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, run.command.front().c_str(), actions.get(), nullptr,
                                  arguments.data(), environ);
  if (error != 0)
    return fail(system_failure(ErrorCode::system, "start " + run.command.front(), error));
  return pid;
}

/// What was written to a memory file.
std::string content_of(const UniqueFd& memory) {
  std::string text;
  std::array<char, 16 * 1024> part{};
  ssize_t got = 0;
  while ((got = ::pread(memory.get(), part.data(), part.size(), static_cast<off_t>(text.size()))) >
         0)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

/// Waits until `fd` is readable; false when the time is up.
bool wait_readable(int fd, steady_clock::time_point end) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready > 0) return true;
  }
}

}  // namespace

Result<std::filesystem::path> own_program_directory() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return fail(ErrorCode::system,
                "cannot read /proc/self/exe: " + error.message() + "; is /proc mounted?");
  return self.parent_path();
}

std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  const std::filesystem::path& first) {
  if (!first.empty() && ::access((first / name).c_str(), X_OK) == 0) return first / name;
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!rest.empty()) {
    const auto end = rest.find(':');
    const std::filesystem::path folder = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (folder.is_absolute() && ::access((folder / name).c_str(), X_OK) == 0) return folder / name;
  }
  return std::nullopt;
}

std::filesystem::path folder_of_program(std::string_view name) {
  const auto program = find_program(name);
  return program ? program->parent_path() : std::filesystem::path();
}

Result<ProgramResult> run_program(const ProgramRun& run) {
  UniqueFd read_end;
  UniqueFd write_end;
  if (run.capture_output) {
    auto output = make_pipe();
    if (!output) return fail(std::move(output.error()));
    read_end = std::move(output->reader);
    write_end = std::move(output->writer);
  }
  // Diagnostics are short and wanted only at the end: a file, so that nobody needs to read
  // meanwhile.
  UniqueFd errors;
  if (run.capture_errors) {
    errors.reset(::memfd_create("errors", MFD_CLOEXEC));
    if (!errors) return fail_errno("memfd_create");
  }
  const auto end = steady_clock::now() + run.longest;
  const auto pid = spawn(run, {.output = write_end.get(), .errors = errors.get()});
  if (!pid) return fail(pid.error());
  write_end.reset();
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));

  ProgramResult result;
  bool in_time = true;
  while (read_end && in_time) {
    in_time = wait_readable(read_end.get(), end);
    std::array<char, 16 * 1024> text{};
    const ssize_t got = in_time ? ::read(read_end.get(), text.data(), text.size()) : 0;
    if (got > 0) result.output.append(text.data(), static_cast<std::size_t>(got));
    const bool interrupted = got < 0 && errno == EINTR;
    if (got <= 0 && !interrupted) break;
  }
  if (!in_time || !wait_readable(ended.get(), end)) {
    ::kill(*pid, SIGKILL);
    in_time = false;
  }
  int wait_status = 0;
  while (::waitpid(*pid, &wait_status, 0) < 0 && errno == EINTR) continue;
  if (!in_time)
    return fail(ErrorCode::timed_out, run.command.front() + " did not end within " +
                                          std::to_string(run.longest.count()) + " s");
  if (errors) result.errors = content_of(errors);
  result.status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  return result;
}

}  // namespace orchid::cli
