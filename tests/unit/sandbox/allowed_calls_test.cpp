// Every system call by number, asked of the kernel in a confined child, against the table.
#include "sandbox/allowed_calls.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <thread>
#include <vector>

namespace orchid {
namespace {

using Arguments = std::array<std::uint64_t, 6>;
constexpr int numbers = 1024;  // more than any kernel has

/// Those that would end the child, or let it wait for ever.
constexpr std::array not_tried{SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_kill, SYS_tgkill,
#ifdef SYS_pause
                               SYS_pause
#endif
};

/// The kernel lets these of x86-64 (uretprobe, uprobe) through every filter, and ends a process
/// with SIGILL that was not sent there by a probe of its own.
bool is_probe([[maybe_unused]] long number) {
#if defined(__x86_64__)
  return number == 335 || number == 336;
#else
  return false;
#endif
}

bool is_allowed(const std::vector<AllowedCall>& table, long number, const Arguments& arguments) {
  return std::ranges::any_of(table, [&](const AllowedCall& call) {
    return call.number == number &&
           std::ranges::all_of(call.conditions, [&](const ArgumentCondition& condition) {
             return condition.holds(arguments.at(condition.argument));
           });
  });
}

/// Arguments that no call can use, but for what a rule wants of them.
std::vector<Arguments> arguments_for(const std::vector<AllowedCall>& table, long number) {
  Arguments useless;
  useless.fill(~std::uint64_t{0});
  std::vector<Arguments> all{useless};
  for (const AllowedCall& call : table) {
    if (call.number != number || call.conditions.empty()) continue;
    Arguments fitting{};
    for (const ArgumentCondition& condition : call.conditions)
      fitting.at(condition.argument) = condition.value;
    all.push_back(fitting);
    for (const ArgumentCondition& condition : call.conditions) {
      Arguments wrong = fitting;
      wrong.at(condition.argument) ^= std::uint64_t{1} << 40;
      all.push_back(wrong);
    }
  }
  return all;
}

/// With the flags that are allowed `clone` makes a thread, which needs a stack of its own: the C
/// library asks with these, and so it is asked.
bool makes_thread() {
  bool ran = false;
  try {
    std::thread([&] { ran = true; }).join();
  } catch (const std::system_error&) {
    return false;
  }
  return ran;
}

bool is_refused(long number, const Arguments& a) {
  errno = 0;
  const long result = ::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return result == -1 && errno == (number == SYS_clone3 ? ENOSYS : EPERM);
}

/// How many answers of the kernel are not the table's.
int differences(const std::vector<AllowedCall>& table) {
  int wrong = 0;
  for (long number = 0; number < numbers; ++number) {
    if (is_probe(number)) continue;
    for (const Arguments& a : arguments_for(table, number)) {
      const bool allowed = is_allowed(table, number, a);
      if (allowed && std::ranges::find(not_tried, number) != not_tried.end()) continue;
      const bool refused = number == SYS_clone && allowed ? !makes_thread() : is_refused(number, a);
      if (refused != allowed) continue;
      std::fprintf(stderr, "system call %ld is %s\n", number, allowed ? "refused" : "allowed");
      ++wrong;
    }
  }
  return wrong;
}

int differences_in(SandboxRole role) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ConfinementOptions options{
        .role = role, .data_limit = 256_MiB, .parent_pid = parent, .keep_descriptors = {0, 1, 2}};
    const auto table = calls_of_user_code(options);
    if (!confine(options) || !confine_further(options)) ::_exit(99);
    ::_exit(std::min(differences(table), 90));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("of all system calls exactly those of the table are allowed, as the table says") {
  CHECK(differences_in(SandboxRole::worker) == 0);
  CHECK(differences_in(SandboxRole::remote_worker) == 0);
}

TEST_CASE("the table names what it allows, and says of each condition what it means") {
  const auto table = calls_of_user_code({.role = SandboxRole::worker,
                                         .data_limit = 256_MiB,
                                         .parent_pid = ::getppid(),
                                         .keep_descriptors = {}});
  CHECK(table.size() > 80);
  CHECK(std::ranges::is_sorted(table, {}, &AllowedCall::name));
  for (const AllowedCall& call : table) {
    CAPTURE(call.name);
    CHECK_FALSE(call.name.empty());
    CHECK(call.only.empty() == call.conditions.empty());
  }
  const auto named = [&](std::string_view name) {
    return std::ranges::find(table, name, &AllowedCall::name) != table.end();
  };
  for (const char* kept : {"read", "mmap", "kill", "futex"}) CHECK(named(kept));
  for (const char* gone : {"openat", "socket", "execve", "ptrace", "sched_setaffinity"})
    CHECK_FALSE(named(gone));
}

}  // namespace orchid
