// busy_desktop.h: processes that wake and compute in bursts, on whatever core the kernel gives
// them, as the programs of a desktop do.
#pragma once
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <vector>

#include "foundation/clock.h"

namespace orchid::bench {

/// Made before the process starts threads or UCX. They are stopped until `go_on`, and end with it.
/// Used by one thread.
class BusyDesktop {
 public:
  explicit BusyDesktop(unsigned processes) {
    for (unsigned seed = 1; seed <= processes; ++seed) {
      const pid_t pid = ::fork();
      if (pid == 0) live(seed);
      if (pid > 0) pids_.push_back(pid);
    }
    stop();
  }
  BusyDesktop(const BusyDesktop&) = delete;
  BusyDesktop& operator=(const BusyDesktop&) = delete;
  ~BusyDesktop() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  void go_on() const { send(SIGCONT); }
  void stop() const { send(SIGSTOP); }
  [[nodiscard]] std::size_t size() const { return pids_.size(); }

 private:
  void send(int signal) const {
    for (const pid_t pid : pids_) ::kill(pid, signal);
  }
  /// Asleep for 1 to 10 ms, then busy for 0.2 to 4 ms: a good quarter of a core.
  [[noreturn]] static void live(unsigned seed) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::minstd_rand random(seed);
    std::uniform_int_distribution<long> pause_us(1'000, 10'000);
    std::uniform_int_distribution<long> burst_us(200, 4'000);
    while (true) {
      const timespec pause{.tv_sec = 0, .tv_nsec = pause_us(random) * 1'000};
      ::nanosleep(&pause, nullptr);
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::microseconds(burst_us(random));
      while (std::chrono::steady_clock::now() < until) {
      }
    }
  }
  std::vector<pid_t> pids_;
};

}  // namespace orchid::bench
