// What a process keeps that speaks with a GPU's driver, seen from inside; without a driver.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "sandbox/confinement.h"

namespace orchid {
namespace {

/// Runs both in a child: `loads` between the stages, `works` behind the second one. 0: both have
/// returned true.
int in_device_sandbox(const std::function<bool()>& loads, const std::function<bool()>& works) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    const ConfinementOptions options{.role = SandboxRole::device,
                                     .data_limit = 64_MiB,
                                     .parent_pid = parent,
                                     .keep_descriptors = {0, 1, 2},
                                     .readable_paths = {"/usr/share/common-licenses"},
                                     .device_paths = {"/dev/null", "/dev/nobody"},
                                     .writable_paths = {"/proc/self/task"}};
    if (!confine(options)) ::_exit(97);
    if (!loads()) ::_exit(1);
    if (!confine_further(options)) ::_exit(98);
    ::_exit(works() ? 0 : 2);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool nothing() { return true; }
bool opens(const char* path, int flags) { return ::open(path, flags) >= 0; }
rlim_t memory_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  return limit.rlim_cur;
}

}  // namespace

TEST_CASE("a device process opens the files that it may between the stages, and none later") {
  CHECK(in_device_sandbox(
            [] {
              return opens("/dev/null", O_RDWR) && !opens("/dev/zero", O_RDONLY) &&
                     opens("/usr/share/common-licenses/GPL-3", O_RDONLY) &&
                     !opens("/usr/share/common-licenses/GPL-3", O_RDWR) &&
                     !opens("/etc/passwd", O_RDONLY) && opens("/proc/self/task", O_RDONLY);
            },
            [] {
              return !opens("/dev/null", O_RDWR) &&
                     !opens("/usr/share/common-licenses/GPL-3", O_RDONLY) && !opens("/", O_PATH) &&
                     ::access("/dev/null", F_OK) != 0 && ::memfd_create("x", 0) < 0 &&
                     ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 && ::fork() < 0;
            }) == 0);
}

TEST_CASE("a driver may name its threads in the way that NVIDIA's does") {
  CHECK(in_device_sandbox(
            [] {
              const std::string name = "/proc/self/task/" + std::to_string(::gettid()) + "/comm";
              const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
              return file >= 0 && ::write(file, "driver", 6) == 6 &&
                     ::sched_get_priority_max(SCHED_RR) > 0;
            },
            nothing) == 0);
}

TEST_CASE("a device process maps what it has been given and asks it, for all its life") {
  int file = -1;
  CHECK(in_device_sandbox(
            [&file] {
              file = ::memfd_create("lane", 0);
              return file >= 0 && ::ftruncate(file, 4096) == 0;
            },
            [&file] {
              int waiting = 0;
              const bool asks = ::ioctl(file, FIONREAD, &waiting) == 0 || errno == ENOTTY;
              void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
              void* code =
                  ::mmap(nullptr, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return asks && shared != MAP_FAILED && code == MAP_FAILED && ::close(file) == 0;
            }) == 0);
}

TEST_CASE("threads that a driver has made are confined by the second stage too") {
  std::atomic<int> stage{0};
  std::atomic<bool> escaped{true};
  std::thread driver;
  CHECK(in_device_sandbox(
            [&] {
              driver = std::thread([&] {
                while (stage == 0) std::this_thread::yield();
                escaped = opens("/dev/null", O_RDWR);
              });
              return true;
            },
            [&] {
              stage = 1;
              driver.join();
              return !escaped;
            }) == 0);
}

TEST_CASE("a device process's memory is limited in the second stage, not before") {
  const rlim_t before = memory_limit();
  CHECK(in_device_sandbox([before] { return memory_limit() == before; },
                          [] { return memory_limit() != RLIM_INFINITY; }) == 0);
  CHECK(in_device_sandbox(
            [] {
              // As a context does it.
              return ::mmap(nullptr, 256ULL << 30, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
            },
            [] {
              return ::mmap(nullptr, 128ULL << 20, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
            }) == 0);
  CHECK(in_device_sandbox(nothing, nothing) == 0);
}

}  // namespace orchid
