// worker/hygiene.h: what a call may not leave behind in the process.
#pragma once
#include <cstdint>
#include <string>

namespace orchid::executor {

/// Owned by the worker's thread.
class Hygiene {
 public:
  /// `task_directory`: /proc/self/task, opened before the sandbox closed. `count_descriptors`:
  /// `descriptor_directory` (/proc/self/fd) is counted too, for workers that may open files.
  Hygiene(int task_directory, int descriptor_directory, bool count_descriptors);

  /// What is open now may stay open. Once, when the sandbox has closed everything else.
  void remember_descriptors();
  /// Restores floating-point control, signals and buffered output. Returns what cannot be restored,
  /// or an empty string. No system call as long as the call used no thread, no signal and no file.
  [[nodiscard]] std::string restore_after_call();

 private:
  struct FloatingPoint {
    std::uint32_t vector = 0;
    std::uint16_t legacy = 0;
  };
  [[nodiscard]] static FloatingPoint read_floating_point();
  static void write_floating_point(FloatingPoint control);
  [[nodiscard]] static int count_entries(int directory);

  int task_directory_;
  int descriptor_directory_;
  bool count_descriptors_;
  FloatingPoint floating_point_;
  int descriptors_at_start_ = 0;
};

}  // namespace orchid::executor
