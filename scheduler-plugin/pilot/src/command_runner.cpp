#include "pilot/command_runner.h"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "foundation/child_setup.h"
#include "foundation/pipe.h"
#include "foundation/unique_fd.h"

namespace orchid::pilot {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_output = 4U << 20;
constexpr std::size_t most_errors = 64U << 10;

/// A file with the input, at its beginning: nobody has to write while the command reads.
Result<UniqueFd> input_file(const std::string& input) {
  UniqueFd file(::memfd_create("orchid-command", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create");
  for (std::size_t written = 0; written < input.size();) {
    const ssize_t count = ::write(file.get(), input.data() + written, input.size() - written);
    if (count <= 0) return fail_errno("writing a command's input");
    written += static_cast<std::size_t>(count);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("lseek");
  return file;
}

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(
      beginnings, [text](std::string_view beginning) { return text.starts_with(beginning); });
}

/// Slurm's messages shall be the ones that we know, and its options ours.
constexpr std::array<std::string_view, 6> never{
    "LC_", "LANG=", "LANGUAGE=", "SBATCH_", "SQUEUE_", "SCANCEL_"};
/// Of Slurm's own only what names the cluster and the user: a job's others would be the options of
/// jobs that are submitted from within it.
constexpr std::array<std::string_view, 10> needs{
    "PATH=",       "LD_LIBRARY_PATH=",   "HOME=",           "USER=",     "LOGNAME=", "SHELL=",
    "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_CLUSTERS=", "SLURM_JWT="};

std::vector<std::string> environment_of(Inherited inherited) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (begins_with_one_of(text, never)) continue;
    if (inherited == Inherited::all || begins_with_one_of(text, needs))
      variables.emplace_back(text);
  }
  variables.emplace_back("LC_ALL=C");
  return variables;
}

Result<pid_t> spawn(std::vector<std::string> words, Inherited inherited, int input, int output,
                    int errors) {
  std::vector<std::string> environment = environment_of(inherited);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigfillset(&usual);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, words[0].c_str(), &actions, &attributes, arguments.data(),
                                  variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(system_failure(ErrorCode::system, "starting " + words[0], error));
  return pid;
}

struct Stream {
  UniqueFd fd;
  std::string* text;
  std::size_t limit;
};

/// False: it is full.
bool read_some(Stream& stream) {
  std::array<char, 16'384> part{};
  const ssize_t count = ::read(stream.fd.get(), part.data(), part.size());
  if (count <= 0) {
    stream.fd.reset();
    return true;
  }
  stream.text->append(part.data(), static_cast<std::size_t>(count));
  return stream.text->size() <= stream.limit;
}

/// Those that were killed and did not end: the kernel does not let go of what waits for a file
/// system that is gone. Each is reaped when it can be.
class Lingering {
 public:
  void add(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.push_back(pid);
  }
  void reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> pids_;
};

Lingering& lingering() {
  static Lingering all;
  return all;
}

constexpr std::chrono::milliseconds longest_death{1'000};

/// The status that waitpid tells. Nothing: it has not ended by then.
std::optional<int> end_of(pid_t pid, std::chrono::milliseconds patience) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd polled{.fd = process.get(), .events = POLLIN, .revents = 0};
  const auto give_up = Clock::now() + patience;
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return 0;  // somebody else has reaped it
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    (void)::poll(&polled, 1, static_cast<int>(left));
  }
}

/// Until both ends are closed.
Result<void> read_all(std::array<Stream, 2>& streams, Clock::time_point give_up,
                      const std::string& name) {
  while (streams[0].fd || streams[1].fd) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Clock::now()).count();
    if (left <= 0) return fail(ErrorCode::timed_out, name + " did not end in time");
    std::array<pollfd, 2> polled{};
    for (std::size_t i = 0; i < 2; ++i)
      polled.at(i) = {
          .fd = streams.at(i).fd ? streams.at(i).fd.get() : -1, .events = POLLIN, .revents = 0};
    if (::poll(polled.data(), polled.size(), static_cast<int>(left)) < 0 && errno != EINTR)
      return fail_errno("poll");
    for (std::size_t i = 0; i < 2; ++i)
      if (polled.at(i).revents != 0 && !read_some(streams.at(i)))
        return fail(ErrorCode::too_large, name + " printed too much");
  }
  return {};
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& words, const std::string& input,
                                  std::chrono::milliseconds deadline, Inherited inherited) {
  const auto give_up = Clock::now() + deadline;
  lingering().reap();
  auto file = input_file(input);
  if (!file) return fail(std::move(file.error()));
  auto out = make_pipe();
  if (!out) return fail(std::move(out.error()));
  auto err = make_pipe();
  if (!err) return fail(std::move(err.error()));
  const auto pid = spawn(words, inherited, file->get(), out->writer.get(), err->writer.get());
  if (!pid) return fail(pid.error());
  out->writer.reset();
  err->writer.reset();
  CommandOutput result;
  std::array<Stream, 2> streams{Stream{std::move(out->reader), &result.output, most_output},
                                Stream{std::move(err->reader), &result.errors, most_errors}};
  const auto read = read_all(streams, give_up, words[0]);
  std::optional<int> status;
  if (read)
    status = end_of(*pid, std::chrono::duration_cast<std::chrono::milliseconds>(
                              std::max(give_up - Clock::now(), Clock::duration(0))));
  if (!status) {  // what has closed its output and goes on is of no use either
    ::kill(*pid, SIGKILL);
    if (!end_of(*pid, longest_death)) lingering().add(*pid);
  }
  if (!read) return fail(read.error());
  if (!status) return fail(ErrorCode::timed_out, words[0] + " did not end in time");
  result.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  return result;
}

}  // namespace orchid::pilot
