// worker/hygiene.h: what a call may not leave behind in the process. What is cheap to restore is
// restored after each call; the rest is looked for at intervals, and costs the worker. Which is
// asked how often is in docs/THREAT-MODEL.md.
#pragma once
#include <chrono>
#include <string_view>

#include "library_state.h"
#include "process_state.h"
#include "user_code/machine_state.h"

namespace orchid::executor {

/// Owned by the worker's thread.
class Hygiene {
 public:
  /// What to look at; all were opened before the sandbox closed.
  struct Options {
    int descriptors = -1;                // /proc/self/fd; -1: not counted
    int threads = -1;                    // /proc/self/task; -1: there is one thread, always
    int mappings = -1;                   // /proc/self/maps; -1: not counted
    int memory = -1;                     // /proc/self/statm; -1: not looked at
    bool library_threads = false;        // some were there before user code; UCX has them
    const DataMappings* data = nullptr;  // what stays mapped as it is; null: there is none
    bool opens_files = false;            // then descriptors are counted after each call
  };
  /// The dear questions are asked when calls have run for so long since the last time. They take a
  /// hundredth of that.
  static constexpr std::chrono::milliseconds look_interval{10};

  explicit Hygiene(const Options& options);

  /// What is there now may stay. Once, before user code comes.
  void remember();
  /// So many threads of the worker's own are kept beside those that it remembers.
  void expect_team(int threads) { team_threads_ = threads; }
  /// The processor's flags and how it computes. First of all when a function has returned or
  /// thrown: what comes next may compute, copy and read unaligned words.
  void restore_registers() const;
  /// Restores what else can be restored. Returns what cannot, or nothing; valid until the next
  /// question. No system call after a short call that used no signal, no file and no thread of the
  /// C library, but for those at intervals.
  [[nodiscard]] std::string_view restore_after_call(std::chrono::nanoseconds run_time);
  /// The next time all is looked at, however long calls have run: the one that ends now may have
  /// left something.
  void look_at_once() { since_look_ = look_interval; }
  /// Says what threads are left, or nothing. A thread that the C library does not know of, left by
  /// a short call, is found here: to be called before the worker sleeps.
  [[nodiscard]] std::string_view find_threads() const;

 private:
  [[nodiscard]] bool may_have_several_threads() const;
  [[nodiscard]] bool has_own_threads_only() const;
  [[nodiscard]] std::string_view look();

  Options options_;
  FloatingPoint floating_point_;
  ThreadArea thread_area_;
  LibraryState library_;
  ProcessState process_;
  std::chrono::nanoseconds since_look_{0};
  int threads_at_start_ = 1;
  int team_threads_ = 0;
};

}  // namespace orchid::executor
