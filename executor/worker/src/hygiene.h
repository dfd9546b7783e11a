// worker/hygiene.h: what a call may not leave behind in the process.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace orchid::executor {

/// Owned by the worker's thread.
class Hygiene {
 public:
  /// `count_descriptors`: `descriptor_directory` (/proc/self/fd, opened before the sandbox closed)
  /// is counted, for workers that may open files.
  Hygiene(int descriptor_directory, bool count_descriptors);

  /// What is open now may stay open. Once, when the sandbox has closed everything else.
  void remember_descriptors();
  /// Restores floating-point control, signals and buffered output. Returns what cannot be restored,
  /// or an empty string. No system call after a short call that used no signal, no file and no
  /// thread of the C library.
  [[nodiscard]] std::string restore_after_call(std::chrono::nanoseconds run_time);
  /// Says what threads are left, or nothing. A thread that the C library does not know of, left by
  /// a short call, is found here: to be called before the worker sleeps.
  [[nodiscard]] static std::string find_threads();

 private:
  struct FloatingPoint {
    std::uint32_t vector = 0;
    std::uint16_t legacy = 0;
  };
  [[nodiscard]] static bool has_one_thread();
  [[nodiscard]] static FloatingPoint read_floating_point();
  static void write_floating_point(FloatingPoint control);
  [[nodiscard]] static int count_entries(int directory);

  int descriptor_directory_;
  bool count_descriptors_;
  FloatingPoint floating_point_;
  int descriptors_at_start_ = 0;
};

}  // namespace orchid::executor
