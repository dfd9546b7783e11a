#include "processes/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

#include "child_setup.h"
#include "foundation/pipe.h"

namespace orchid::processes {
namespace {

constexpr int not_started = 127;  // exit status of a child that has not become its program
constexpr std::chrono::milliseconds killed_within{1000};

/// What main gets: the program's name first.
std::vector<std::string> words_of(const ProgramStart& program) {
  std::vector<std::string> words = program.arguments;
  words.insert(words.begin(), program.name.empty() ? program.program.native() : program.name);
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// All that the child needs, made before the fork: after it there are system calls only.
struct Prepared {
  explicit Prepared(const ProgramStart& program)
      : start(program),
        words(words_of(program)),
        variables(program.environment.value_or(std::vector<std::string>())),
        arguments(pointers_to(words)),
        pointers(pointers_to(variables)),
        environment(program.environment ? pointers.data() : environ),
        descriptors(program.descriptors) {
    for (const PassedDescriptor& each : descriptors) first_free = std::max(first_free, each.as + 1);
  }

  const ProgramStart& start;
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> arguments;
  std::vector<char*> pointers;
  char** environment;
  std::vector<PassedDescriptor> descriptors;
  int first_free = STDERR_FILENO + 1;  // above all numbers that mean something to the program
  int report = -1;
  pid_t parent = ::getpid();
};

/// The parent is told over a pipe; the child is its copy, so that the text has the same address in
/// both.
[[noreturn]] void give_up(const Prepared& prepared, const char* step) {
  const StartFault fault{step, errno};
  (void)!::write(prepared.report, &fault, sizeof(fault));
  ::_exit(not_started);
}

void read_nothing() {
  const int null = ::open("/dev/null", O_RDONLY);
  if (null > STDIN_FILENO) {
    ::dup2(null, STDIN_FILENO);
    ::close(null);
  }
}

/// First all go out of each other's way, then each to its number. Whatever is not passed ends with
/// exec.
void arrange_descriptors(Prepared& prepared) {
  const auto moved = [&](int number) {
    const int copy = ::fcntl(number, F_DUPFD_CLOEXEC, prepared.first_free);
    if (copy < 0) give_up(prepared, "arranging its descriptors");
    return copy;
  };
  prepared.report = moved(prepared.report);
  for (PassedDescriptor& each : prepared.descriptors) each.from = moved(each.from);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (!prepared.start.inherits_input) read_nothing();
  for (const PassedDescriptor& each : prepared.descriptors)
    if (::dup2(each.from, each.as) < 0) give_up(prepared, "arranging its descriptors");
}

[[noreturn]] void become(Prepared& prepared) {
  const ProgramStart& start = prepared.start;
  reset_signals(start.default_signals);
  if (start.group == ProcessGroup::own) ::setpgid(0, 0);
  if (start.group == ProcessGroup::own_session) ::setsid();
  arrange_descriptors(prepared);
  if (start.first_to_lose_memory) be_first_to_lose_memory();
  if (start.last_step.run != nullptr)
    if (const char* failed = start.last_step.run(start.last_step.context))
      give_up(prepared, failed);
  if (start.dies_with_us) {  // a change of user clears it, so that it comes after the last step
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != prepared.parent) ::_exit(not_started);  // it died before the line above
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(start.program.c_str(), prepared.arguments.data(), prepared.environment);
  give_up(prepared, nullptr);
}

enum class Memory : std::uint8_t {
  copied,
  /// Until the child has become the program we stand still, and it uses our memory: to copy the
  /// page tables of a large process takes tens of milliseconds, in which none of its threads gets a
  /// page.
  shared,
};

/// All signals are blocked meanwhile: one that comes between fork and exec must not run a handler
/// of ours in the child, where an event loop's would write into a pipe that both have.
pid_t spawn(Prepared& prepared, Memory memory) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // NOLINTNEXTLINE(bugprone-unsafe-functions): the child does nothing but system calls
  const pid_t pid = memory == Memory::shared ? ::vfork() : ::fork();
  if (pid == 0) become(prepared);  // in this frame: with shared memory it must not return
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

/// Children that were killed and did not end within a second. Any thread.
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

}  // namespace

std::optional<StartFault> StartReport::fault() {
  StartFault fault;
  ssize_t got = 0;
  do {
    got = ::read(report_.get(), &fault, sizeof(fault));
  } while (got < 0 && errno == EINTR);
  report_.reset();
  if (got != sizeof(fault)) return std::nullopt;
  return fault;
}

Result<void> StartReport::outcome() {
  const auto failed = fault();
  if (!failed) return {};
  return fail(system_failure(ErrorCode::system,
                             failed->step == nullptr ? "starting the program" : failed->step,
                             failed->error));
}

Result<ChildProcess> ChildProcess::start(const ProgramStart& program) {
  // A step of somebody else's may want more than system calls need, such as another user.
  auto starting = fork_and_exec(program, program.last_step.run == nullptr);
  if (!starting) return fail(std::move(starting.error()));
  const auto failed = starting->report.fault();
  if (!failed) return std::move(starting->process);
  std::string what = "start " + program.program.string();
  if (failed->step != nullptr) what += std::string(": ") + failed->step;
  return fail(system_failure(ErrorCode::system, what, failed->error));
}

Result<StartingChild> ChildProcess::begin(const ProgramStart& program) {
  return fork_and_exec(program, false);
}

Result<StartingChild> ChildProcess::fork_and_exec(const ProgramStart& program,
                                                  bool we_stand_still) {
  lingering().reap();
  auto report = make_pipe();
  if (!report) return fail(std::move(report.error()));
  Prepared prepared(program);
  prepared.report = report->writer.get();
  const pid_t pid = spawn(prepared, we_stand_still ? Memory::shared : Memory::copied);
  if (pid < 0) return fail_errno("fork");
  const bool leads_group = program.group != ProcessGroup::ours;
  if (program.group == ProcessGroup::own) ::setpgid(pid, pid);  // whoever is first
  ChildProcess child(pid, leads_group,
                     UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
  if (!child.process_) return fail_errno("pidfd_open");
  return StartingChild{std::move(child), StartReport(std::move(report->reader))};
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      leads_group_(other.leads_group_),
      process_(std::move(other.process_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    leads_group_ = other.leads_group_;
    process_ = std::move(other.process_);
  }
  return *this;
}

ChildProcess::~ChildProcess() { end(); }

void ChildProcess::send_signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);  // until it is reaped, its number is nobody else's
}

void ChildProcess::kill() const {
  if (pid_ > 0 && leads_group_) ::kill(-pid_, SIGKILL);
  send_signal(SIGKILL);
}

bool ChildProcess::is_stopped() const {
  siginfo_t state{};
  // Left where it is: it says what holds now, and no more once the process is continued.
  return pid_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         state.si_pid == pid_;
}

std::optional<ProcessEnd> ChildProcess::reap() { return wait(std::chrono::milliseconds(0)); }

std::optional<ProcessEnd> ChildProcess::wait(std::chrono::milliseconds longest) {
  using std::chrono::steady_clock;
  if (pid_ < 0) return std::nullopt;
  const auto give_up = steady_clock::now() + longest;
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) {
      pid_ = -1;
      // Where SIGCHLD is ignored the kernel keeps no status: what is known is that it has ended.
      return end_from_wait_status(ended < 0 ? 0 : status);
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(give_up - steady_clock::now()).count();
    if (left <= 0) return std::nullopt;
    // Without a pidfd, for which no descriptor was left, nothing tells us.
    constexpr std::chrono::milliseconds::rep look_every = 1;
    const auto pause = process_ ? left : std::min(left, look_every);
    pollfd process{.fd = process_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&process, 1, static_cast<int>(pause));
  }
}

pid_t ChildProcess::release() {
  process_.reset();
  return std::exchange(pid_, -1);
}

void ChildProcess::end() {
  if (pid_ < 0) return;
  kill();
  if (!wait(killed_within)) lingering().add(std::exchange(pid_, -1));
}

}  // namespace orchid::processes
