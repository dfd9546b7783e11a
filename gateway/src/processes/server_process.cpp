#include "processes/server_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "foundation/child_setup.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): of glibc only with _GNU_SOURCE

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds killed_within{1000};

Result<pid_t> spawn(const std::filesystem::path& program, std::vector<std::string> arguments,
                    std::span<const PassedDescriptor> descriptors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [from, as] : descriptors) posix_spawn_file_actions_adddup2(&actions, from, as);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The gateway blocks the signals that end it; its child must not inherit that. A group of its
  // own: Ctrl-C is for the gateway, which then ends its child in order.
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  arguments.insert(arguments.begin(), program.native());
  const std::vector<char*> pointers = pointers_to(arguments);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return fail(system_failure(ErrorCode::unreachable, "start " + program.string(), error));
  return pid;
}

}  // namespace

Result<ServerProcess> ServerProcess::start(const std::filesystem::path& program,
                                           const std::vector<std::string>& arguments, int socket) {
  const PassedDescriptor one{.from = socket, .as = server_socket_number};
  return start(program, arguments, std::span(&one, 1));
}

Result<ServerProcess> ServerProcess::start(const std::filesystem::path& program,
                                           const std::vector<std::string>& arguments,
                                           std::span<const PassedDescriptor> descriptors) {
  auto pid = spawn(program, arguments, descriptors);
  if (!pid) return fail(std::move(pid.error()));
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (!process) {
    auto failed = fail_errno("pidfd_open");
    ::kill(*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return failed;
  }
  return ServerProcess(*pid, std::move(process));
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), process_(std::move(other.process_)) {}

ServerProcess& ServerProcess::operator=(ServerProcess&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    process_ = std::move(other.process_);
  }
  return *this;
}

ServerProcess::~ServerProcess() { end(); }

bool ServerProcess::is_stopped() const {
  siginfo_t state{};
  // Left where it is: it says what holds now, and no more once the process is continued.
  return pid_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         state.si_pid == pid_;
}

void ServerProcess::leave() {
  pid_ = -1;
  process_.reset();
}

void ServerProcess::end() {
  if (pid_ < 0) return;
  // Its whole group: its children too.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  // One that the kernel does not let go, such as in a file system that hangs, ends when it may.
  pollfd ended{.fd = process_.get(), .events = POLLIN, .revents = 0};
  while (::poll(&ended, 1, static_cast<int>(killed_within.count())) < 0 && errno == EINTR) {
  }
  while (::waitpid(pid_, nullptr, WNOHANG) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace orchid::gateway
