// Each case confines a forked child and looks at what is left of it from inside.
#include "sandbox/confinement.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace orchid {
namespace {

const std::vector<std::filesystem::path> licenses{"/usr/share/common-licenses"};

enum class Stages { first, both };

/// Runs `body` in a confined child; its result is the exit status.
int in_sandbox(SandboxRole role, const std::function<int()>& body,
               const std::vector<std::filesystem::path>& readable = {},
               Stages stages = Stages::both) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int fd = 0; fd < worker_descriptor_count; ++fd)
      if (::fcntl(fd, F_GETFD) < 0) ::dup2(0, fd);
    ConfinementOptions options{.role = role,
                               .data_limit = 256_MiB,
                               .parent_pid = parent,
                               .keep_descriptors = {},
                               .readable_paths = readable};
    for (int fd = 0; fd < 2 * worker_descriptor_count; ++fd) options.keep_descriptors.push_back(fd);
    if (!confine(options)) ::_exit(99);
    if (stages == Stages::both && !confine_further(options)) ::_exit(99);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// 0 when the call failed, as it should.
int refused(long result) { return result < 0 ? 0 : 1; }

}  // namespace

TEST_CASE("a confined worker computes, and that is all") {
  CHECK(in_sandbox(SandboxRole::worker, [] { return 0; }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::open("/etc/passwd", O_RDONLY)); }) ==
        0);
  CHECK(in_sandbox(SandboxRole::worker, [] {
          return refused(::open("/tmp/orchid-confined", O_WRONLY | O_CREAT, 0600));
        }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [] { return refused(::socket(AF_INET, SOCK_STREAM, 0)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::fork()); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [] { return refused(::syscall(SYS_clone3, nullptr, 0)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [] { return refused(::execl("/bin/true", "true", nullptr)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::kill(::getppid(), 0)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::chdir("/")); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::memfd_create("x", 0)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::close(3)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::dup2(0, 3)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [] { return refused(::syscall(SYS_close_range, 0, 100, 0)); }) == 0);
}

TEST_CASE("a thread is made as the C library makes it, and in no other way") {
  CHECK(in_sandbox(SandboxRole::worker, [] {
          int ran = 1;
          std::thread([&] { ran = 0; }).join();
          return ran;
        }) == 0);
  constexpr long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
                         CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  for (const long other : {flags | CLONE_PTRACE, flags | CLONE_UNTRACED, flags | CLONE_PARENT,
                           flags | CLONE_NEWNS, flags & ~CLONE_FILES, flags & ~CLONE_SETTLS,
                           long{CLONE_VM | CLONE_SIGHAND | CLONE_THREAD}}) {
    CAPTURE(other);
    CHECK(in_sandbox(SandboxRole::worker, [other] {
            return ::syscall(SYS_clone, other, nullptr, nullptr, nullptr, nullptr) == -1 &&
                           errno == EPERM
                       ? 0
                       : 1;
          }) == 0);
  }
}

TEST_CASE("what the site made readable can be read") {
  const auto opens = [] {
    return ::open("/usr/share/common-licenses/GPL-3", O_RDONLY) >= 0 ? 0 : 1;
  };
  CHECK(in_sandbox(SandboxRole::worker, opens, licenses) == 0);
  CHECK(in_sandbox(SandboxRole::worker, opens) == 1);
  CHECK(in_sandbox(
            SandboxRole::worker, [] { return refused(::open("/etc/passwd", O_RDONLY)); },
            licenses) == 0);
}

TEST_CASE("without a tree to read, nothing can even be looked at") {
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::open("/", O_PATH)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] {
          struct stat status{};
          return refused(::stat("/etc/passwd", &status));
        }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] { return refused(::access("/etc/passwd", F_OK)); }) ==
        0);
}

TEST_CASE("no page is writable and executable, no mapping is shared, and memory has a limit") {
  const auto map = [](int protection, int flags, std::size_t size) {
    return ::mmap(nullptr, size, protection, flags | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0 : 1;
  };
  CHECK(in_sandbox(SandboxRole::worker,
                   [&] { return map(PROT_READ | PROT_WRITE, MAP_SHARED, 4096); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [&] { return map(PROT_READ | PROT_WRITE, MAP_PRIVATE, 1UL << 30); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [&] { return 1 - map(PROT_READ | PROT_WRITE, MAP_PRIVATE, 1UL << 20); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] {
          void* page =
              ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          return refused(::mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
        }) == 0);
}

TEST_CASE("a worker may write to a file that it was sent, and executes none of it") {
  const int own = ::memfd_create("room", 0);
  REQUIRE(own >= 0);
  REQUIRE(own < worker_descriptor_count);
  REQUIRE(::ftruncate(own, 4096) == 0);
  const int file = ::fcntl(own, F_DUPFD, worker_descriptor_count);
  REQUIRE(file >= worker_descriptor_count);
  const auto map = [file](int protection, int flags) {
    return
        [=] { return ::mmap(nullptr, 4096, protection, flags, file, 0) == MAP_FAILED ? errno : 0; };
  };
  constexpr int both = PROT_READ | PROT_WRITE;
  for (const SandboxRole role : {SandboxRole::worker, SandboxRole::remote_worker}) {
    CHECK(in_sandbox(role, map(both, MAP_SHARED)) == 0);
    CHECK(in_sandbox(role, map(PROT_READ | PROT_EXEC, MAP_SHARED)) == EPERM);
    CHECK(in_sandbox(role, map(both | PROT_EXEC, MAP_SHARED)) == EPERM);
    CHECK(in_sandbox(role, map(both, MAP_SHARED_VALIDATE)) == EPERM);
    CHECK(in_sandbox(role, map(both, MAP_SHARED | MAP_GROWSDOWN)) == EPERM);
    CHECK(in_sandbox(role, map(both, MAP_SHARED | MAP_ANONYMOUS)) == EPERM);
    // What it was born with, among it perhaps an RDMA device, by whatever number: the kernel reads
    // the lower half alone.
    for (const long number : {long{own}, long{own} | 1L << 32, long{own} | 1L << 63})
      CHECK(in_sandbox(role, [=] {
              return ::syscall(SYS_mmap, nullptr, 4096, both, MAP_SHARED, number, 0) == -1 ? errno
                                                                                           : 0;
            }) == EPERM);
  }
  CHECK(in_sandbox(SandboxRole::worker,
                   [] { return refused(::syscall(SYS_close, 3L | 1L << 32)); }) == 0);
  // Its size is not the worker's to change.
  CHECK(in_sandbox(SandboxRole::worker, [file] { return refused(::ftruncate(file, 0)); }) == 0);
  CHECK(in_sandbox(SandboxRole::worker,
                   [file] { return refused(::fcntl(file, F_ADD_SEALS, F_SEAL_GROW)); }) == 0);
  ::close(file);
  ::close(own);
}

TEST_CASE("a depot hands descriptors on, and does nothing else") {
  const int file = ::memfd_create("data", 0);
  REQUIRE(file >= 0);
  CHECK(in_sandbox(SandboxRole::depot, [file] { return ::close(file); }) == 0);
  CHECK(in_sandbox(SandboxRole::depot, [file] {
          return ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED ? 0 : 1;
        }) == 0);
  CHECK(in_sandbox(SandboxRole::depot, [] {
          return refused(::open("/etc/passwd", O_RDONLY)) + refused(::memfd_create("x", 0)) +
                 refused(::socket(AF_INET, SOCK_STREAM, 0)) +
                 refused(::socket(AF_UNIX, SOCK_STREAM, 0)) + refused(::fork()) +
                 refused(::execl("/bin/true", "true", nullptr)) + refused(::kill(::getppid(), 0));
        }) == 0);
  // F_SETOWN and O_ASYNC would have the kernel send signals to others for it.
  CHECK(in_sandbox(SandboxRole::depot, [file] {
          return refused(::fcntl(file, F_SETOWN, ::getppid())) +
                 refused(::fcntl(file, F_SETSIG, SIGKILL)) +
                 refused(::fcntl(file, F_SETFL, O_ASYNC)) + refused(::fcntl(file, F_DUPFD, 0)) +
                 (::fcntl(file, F_GETFD) >= 0 ? 0 : 1);
        }) == 0);
  ::close(file);
}

TEST_CASE("what runs flows writes to the files that it has, and reaches nothing else") {
  std::string name = "/tmp/orchid-flows-XXXXXX";
  const int file = ::mkstemp(name.data());
  REQUIRE(file >= 0);
  const auto in_flows = [](const std::function<int()>& body) {
    return in_sandbox(SandboxRole::flows, body, {}, Stages::first);
  };
  CHECK(in_flows([file] {
          const bool written = ::write(file, "a", 1) == 1 && ::fsync(file) == 0 &&
                               ::ftruncate(file, 0) == 0 && ::memfd_create("x", 0) >= 0;
          std::thread([] {}).join();
          return written ? 0 : 1;
        }) == 0);
  CHECK(in_flows([&name] {
          return refused(::open("/etc/passwd", O_RDONLY)) + refused(::open(name.c_str(), O_RDWR)) +
                 refused(::unlink(name.c_str())) + refused(::socket(AF_INET, SOCK_STREAM, 0)) +
                 refused(::socket(AF_UNIX, SOCK_STREAM, 0)) + refused(::fork()) +
                 refused(::execl("/bin/true", "true", nullptr)) + refused(::kill(::getppid(), 0));
        }) == 0);
  CHECK(in_flows([] {
          std::array<int, 2> ends{};
          if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
          const sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/run/orchid-nowhere"};
          const int connected =
              ::connect(ends[0], reinterpret_cast<const sockaddr*>(&address), sizeof(address));
          char none = 0;
          return connected == 0 && ::send(ends[0], "x", 1, 0) == 1 &&
                         ::recv(ends[1], &none, 1, 0) == 1
                     ? 0
                     : 1;
        }) == 0);
  ::close(file);
  ::unlink(name.c_str());
}

TEST_CASE("no mapping is made writable and executable, and code can still be made in two steps") {
  CHECK(in_sandbox(SandboxRole::worker, [] {
          return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
                         errno == EPERM
                     ? 0
                     : 1;
        }) == 0);
  CHECK(in_sandbox(SandboxRole::worker, [] {
          void* page =
              ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          return page != MAP_FAILED && ::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 ? 0 : 1;
        }) == 0);
}

TEST_CASE("a process reads its own limits, and changes none") {
  const auto limits_of = [](pid_t process, bool changes) {
    return [process, changes] {
      rlimit64 limit{RLIM64_INFINITY, RLIM64_INFINITY};
      return ::prlimit64(process, RLIMIT_DATA, changes ? &limit : nullptr,
                         changes ? nullptr : &limit) == 0
                 ? 0
                 : errno;
    };
  };
  CHECK(in_sandbox(SandboxRole::worker, limits_of(0, false)) == 0);
  CHECK(in_sandbox(SandboxRole::worker, limits_of(0, true)) == EPERM);
  CHECK(in_sandbox(SandboxRole::worker, limits_of(::getpid(), false)) == EPERM);
  CHECK(in_sandbox(SandboxRole::worker, [] {
          rlimit64 limit{};
          return ::prlimit64(::getpid(), RLIMIT_DATA, nullptr, &limit) == 0 ? 0 : errno;
        }) == 0);
}

TEST_CASE("a process can send itself what it can catch, and nothing that hides the sender") {
  CHECK(in_sandbox(SandboxRole::worker, [] { return ::raise(SIGBUS); }) == 1000 + SIGBUS);
  CHECK(in_sandbox(SandboxRole::worker, [] { return ::kill(::getpid(), SIGUSR1); }) ==
        1000 + SIGUSR1);
  for (const int signal : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    CAPTURE(signal);
    CHECK(in_sandbox(SandboxRole::worker, [signal] {
            // The kernel looks at 32 bits of it only.
            const long wide = (1L << 32) | signal;
            return refused(::kill(::getpid(), signal)) + refused(::raise(signal)) +
                   refused(::syscall(SYS_kill, static_cast<long>(::getpid()), wide)) +
                   refused(::syscall(SYS_rt_sigqueueinfo, ::getpid(), signal, nullptr));
          }) == 0);
  }
}

TEST_CASE("cores and priority are not the process's own to choose") {
  CHECK(in_sandbox(SandboxRole::worker, [] {
          cpu_set_t mask;
          CPU_ZERO(&mask);
          CPU_SET(0, &mask);
          return refused(::sched_setaffinity(0, sizeof(mask), &mask)) +
                 refused(::setpriority(PRIO_PROCESS, 0, 0)) + refused(::nice(1));
        }) == 0);
}

TEST_CASE("limits of memory can be raised from outside, where that is wanted") {
  const auto hard_limit = [](bool raisable) {
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ConfinementOptions options{.role = SandboxRole::worker,
                                 .data_limit = 256_MiB,
                                 .parent_pid = parent,
                                 .keep_descriptors = {0, 1, 2},
                                 .others_may_raise_limits = raisable};
      if (!confine(options) || !confine_further(options)) ::_exit(99);
      rlimit64 limit{};
      ::prlimit64(0, RLIMIT_DATA, nullptr, &limit);
      ::_exit(limit.rlim_max > limit.rlim_cur ? 2 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
  };
  CHECK(hard_limit(false) == 1);
  CHECK(hard_limit(true) == 2);
}

TEST_CASE("threads are possible, and confined too") {
  CHECK(in_sandbox(SandboxRole::worker, [] {
          int result = 1;
          std::thread([&result] { result = refused(::open("/etc/passwd", O_RDONLY)); }).join();
          return result;
        }) == 0);
}

TEST_CASE("a confined compiler makes memory files, and opens nothing") {
  CHECK(in_sandbox(SandboxRole::compiler, [] { return ::memfd_create("x", 0) >= 0 ? 0 : 1; }) == 0);
  CHECK(in_sandbox(SandboxRole::compiler,
                   [] { return refused(::open("/etc/passwd", O_RDONLY)); }) == 0);
  CHECK(in_sandbox(SandboxRole::compiler,
                   [] { return refused(::socket(AF_UNIX, SOCK_STREAM, 0)); }) == 0);
}

TEST_CASE("a door listens before its second stage, and reaches nobody in either") {
  const auto connects = [](int family) {
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    const int fd = ::socket(family, SOCK_STREAM, 0);
    return fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                               sizeof(sockaddr_in)) < 0
               ? errno
               : 0;
  };
  const auto listens = [] {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && ::listen(fd, 1) == 0 ? 0 : 1;
  };
  CHECK(in_sandbox(SandboxRole::door, listens, {}, Stages::first) == 0);
  CHECK(
      in_sandbox(SandboxRole::door, [&] { return connects(AF_INET); }, {}, Stages::first) == EPERM);
  CHECK(
      in_sandbox(SandboxRole::door, [&] { return connects(AF_UNIX); }, {}, Stages::first) == EPERM);
  CHECK(in_sandbox(SandboxRole::door, [&] { return connects(AF_INET); }) == EPERM);
  CHECK(in_sandbox(SandboxRole::door, listens) == 1);
  CHECK(in_sandbox(SandboxRole::door,
                   [] { return refused(::open("/proc/self/maps", O_RDONLY)); }) == 0);
}

TEST_CASE("a process whose parent has gone is not confined but ends") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto confined = confine({.role = SandboxRole::worker,
                                   .data_limit = 256_MiB,
                                   .parent_pid = 1 << 21,
                                   .keep_descriptors = {0, 1, 2}});
    ::_exit(!confined && confined.error().code == ErrorCode::unreachable ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace orchid
