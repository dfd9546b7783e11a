#include "executor_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "foundation/child_setup.h"
#include "foundation/files.h"
#include "foundation/pipe.h"

namespace orchid::site {
namespace {

constexpr int first_free_number = 16;  // above all that a child gets under a number of its own
constexpr unsigned close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC

/// How far a child came; it goes over a pipe.
enum class Step : int { descriptors, groups, cores, user, program };

struct Fault {
  Step step = Step::descriptors;
  int error = 0;
};

std::string_view describe(Step step) {
  switch (step) {
    case Step::descriptors:
      return "arranging its descriptors";
    case Step::groups:
      return "entering the job's control group";
    case Step::cores:
      return "binding it to the job's cores";
    case Step::user:
      return "becoming its user";
    case Step::program:
      break;
  }
  return "starting the program";
}

/// All that a child needs, made before the fork: between that and exec there are system calls only.
struct Prepared {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  uid_t uid = 0;
  cpu_set_t cores{};
  std::vector<std::string> groups;
  int feed = -1;
  int token = -1;
  int faults = -1;
  pid_t parent = 0;
};

[[noreturn]] void give_up(const Prepared& p, Step step) {
  const Fault fault{step, errno};
  (void)!::write(p.faults, &fault, sizeof(fault));
  ::_exit(127);
}

/// `from` becomes `to`, or nothing does.
void place(const Prepared& p, int from, int to) {
  if (from < 0)
    ::close(to);
  else if (::dup2(from, to) < 0)
    give_up(p, Step::descriptors);
}

void enter(const Prepared& p, const std::string& file) {
  const int group = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  // 0 is who writes.
  if (group < 0 || ::write(group, "0", 1) != 1) give_up(p, Step::groups);
  ::close(group);
}

/// To be nobody else is the last thing that root does.
void leave_root(const Prepared& p) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(p.uid, p.uid, p.uid) != 0 ||
      ::setresuid(p.uid, p.uid, p.uid) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up(p, Step::user);
  // A change of user clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.parent) ::_exit(127);
}

[[noreturn]] void become(const Prepared& p) {
  default_signals();
  unblock_signals();
  read_nothing();
  place(p, p.feed, feed_number);
  place(p, p.token, token_number);
  ::syscall(SYS_close_range, token_number + 1, ~0U, close_on_exec);
  for (const std::string& group : p.groups) enter(p, group);
  if (::sched_setaffinity(0, sizeof(p.cores), &p.cores) != 0) give_up(p, Step::cores);
  // What the executor starts cannot say so by itself: it may not look into its own process.
  be_first_to_lose_memory();
  ::umask(077);
  if (::chdir("/") != 0) give_up(p, Step::descriptors);
  leave_root(p);
  ::execve(p.program, p.arguments, p.environment);
  give_up(p, Step::program);
}

/// A copy that is in nobody's way.
Result<UniqueFd> high_copy(int number) {
  UniqueFd copy(::fcntl(number, F_DUPFD_CLOEXEC, first_free_number));
  if (!copy) return fail_errno("copying a descriptor");
  return copy;
}

cpu_set_t mask_of(const CoreList& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const std::uint32_t core : cores)
    if (core < CPU_SETSIZE) CPU_SET(core, &mask);
  return mask;
}

}  // namespace

Result<ExecutorProcess> ExecutorProcess::start(const ExecutorStart& start) {
  Prepared p{.program = start.program.c_str(), .uid = start.uid, .cores = mask_of(start.cores)};
  std::vector<std::string> words{start.program.string()};
  words.insert(words.end(), start.arguments.begin(), start.arguments.end());
  std::vector<std::string> variables{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  p.arguments = arguments.data();
  p.environment = environment.data();
  for (const auto& group : start.groups) p.groups.push_back((group / "cgroup.procs").string());
  UniqueFd feed;
  if (start.feed >= 0) {
    auto copy = high_copy(start.feed);
    if (!copy) return fail(std::move(copy.error()));
    feed = std::move(*copy);
  }
  auto memory = make_sealed_memory("orchid-token", as_bytes(start.token));
  if (!memory) return fail(std::move(memory.error()));
  auto token = high_copy(memory->get());
  if (!token) return fail(std::move(token.error()));
  auto pipe = make_pipe();
  if (!pipe) return fail(std::move(pipe.error()));
  auto faults = high_copy(pipe->writer.get());
  if (!faults) return fail(std::move(faults.error()));
  pipe->writer.reset();
  p.feed = feed.get();
  p.token = token->get();
  p.faults = faults->get();
  p.parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) become(p);
  faults->reset();
  ExecutorProcess started(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
                          std::move(pipe->reader));
  if (!started.process_) return fail_errno("pidfd_open");
  return started;
}

Result<void> ExecutorProcess::started() {
  Fault fault;
  ssize_t got = 0;
  do {
    got = ::read(faults_.get(), &fault, sizeof(fault));
  } while (got < 0 && errno == EINTR);
  faults_.reset();
  if (got == sizeof(fault))
    return fail(system_failure(ErrorCode::system, describe(fault.step), fault.error));
  return {};
}

ExecutorProcess::ExecutorProcess(ExecutorProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      process_(std::move(other.process_)),
      faults_(std::move(other.faults_)) {}

ExecutorProcess::~ExecutorProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ExecutorProcess::send_signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> ExecutorProcess::reap() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  return status;
}

}  // namespace orchid::site
