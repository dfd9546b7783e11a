#include "shares/detached_step.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/child_setup.h"
#include "foundation/files.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {
namespace {

constexpr std::size_t longest_said = 2000;

/// Between fork and exec: system calls only.
[[noreturn]] void become(char* const* words, char* const* environment, int log) {
  ::setsid();
  default_signals();
  unblock_signals();
  read_nothing();
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  ::execve(words[0], words, environment);
  ::_exit(127);
}

}  // namespace

Result<DetachedStep> DetachedStep::start(const std::vector<std::string>& words,
                                         const std::vector<std::string>& environment,
                                         const std::filesystem::path& log) {
  const UniqueFd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return fail_errno("opening " + log.string());
  const off_t begin = ::lseek(file.get(), 0, SEEK_END);
  std::vector<std::string> arguments = words;
  std::vector<std::string> variables = environment;
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) become(argument_pointers.data(), variable_pointers.data(), file.get());
  return DetachedStep(pid, log, begin < 0 ? 0 : static_cast<std::uintmax_t>(begin));
}

std::optional<int> DetachedStep::ended() const {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  return status;
}

std::string DetachedStep::said() const {
  const auto content = read_file(log_, 16_MiB);
  if (!content || content->size() <= begin_) return {};
  std::string text(as_text(*content).substr(begin_));
  if (text.size() > longest_said) text.erase(0, text.size() - longest_said);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace orchid::cli
