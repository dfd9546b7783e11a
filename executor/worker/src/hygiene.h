// worker/hygiene.h: what a call may not leave behind in the process.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace orchid::executor {

/// Owned by the worker's thread.
class Hygiene {
 public:
  /// What to count; both were opened before the sandbox closed.
  struct Options {
    int descriptors = -1;  // /proc/self/fd, for workers that may open files; -1: not counted
    int threads = -1;  // /proc/self/task, for workers with threads of their own; -1: there is one
  };
  explicit Hygiene(const Options& options);

  /// What is there now may stay. Once, before user code comes.
  void remember();
  /// Restores floating-point control, signals and buffered output. Returns what cannot be restored,
  /// or an empty string. No system call after a short call that used no signal, no file and no
  /// thread of the C library.
  [[nodiscard]] std::string restore_after_call(std::chrono::nanoseconds run_time);
  /// Says what threads are left, or nothing. A thread that the C library does not know of, left by
  /// a short call, is found here: to be called before the worker sleeps.
  [[nodiscard]] std::string find_threads() const;

 private:
  struct FloatingPoint {
    std::uint32_t vector = 0;
    std::uint16_t legacy = 0;
  };
  [[nodiscard]] bool has_own_threads_only() const;
  [[nodiscard]] static FloatingPoint read_floating_point();
  static void write_floating_point(FloatingPoint control);
  [[nodiscard]] static int count_entries(int directory);

  Options options_;
  FloatingPoint floating_point_;
  int descriptors_at_start_ = 0;
  int threads_at_start_ = 1;
};

}  // namespace orchid::executor
