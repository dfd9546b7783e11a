#include "hygiene.h"

#include <sched.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "user_code/call_log.h"
#include "user_code/crash_report.h"
#include "user_code/runtime_overrides.h"

namespace orchid::executor {
namespace {

/// In less a call cannot have made one, as a rule: the system call alone takes longer.
constexpr std::chrono::microseconds time_to_make_a_thread{4};
constexpr int looks_for_threads = 50;

/// /proc/self/task has two links of its own and one for each thread; its entries need not be read.
/// Not fstat(), for which the C library asks with a path.
int count_threads(int tasks) {
  struct stat status{};
  if (::syscall(SYS_fstat, tasks, &status) != 0) return -1;
  return static_cast<int>(status.st_nlink) - 2;
}

}  // namespace

Hygiene::Hygiene(const Options& options)
    : options_(options),
      process_({.descriptors = options.descriptors,
                .mappings = options.mappings,
                .memory = options.memory,
                .data = options.data}) {}

void Hygiene::remember() {
  process_.remember();
  if (options_.threads >= 0) threads_at_start_ = count_threads(options_.threads);
}

bool Hygiene::may_have_several_threads() const {
  return options_.library_threads || team_threads_ != 0;
}

/// Unsharing what a process with one thread does not share does nothing and succeeds; with more it
/// fails. The cheapest way to ask: no directory is read.
bool Hygiene::has_own_threads_only() const {
  if (may_have_several_threads())
    return count_threads(options_.threads) == threads_at_start_ + team_threads_;
  return ::syscall(SYS_unshare, CLONE_THREAD) == 0;
}

std::string_view Hygiene::find_threads() const {
  // One that has been joined may need a moment more until the kernel has forgotten it.
  for (int look = 0; look < looks_for_threads; ++look) {
    if (has_own_threads_only()) return {};
    const timespec moment{0, 100'000};
    ::nanosleep(&moment, nullptr);
  }
  return "the function left a thread running";
}

void Hygiene::restore_registers() const {
  restore_flags();
  floating_point_.restore();
}

std::string_view Hygiene::restore_after_call(std::chrono::nanoseconds run_time) {
  // Before anything that looks into that area.
  if (!thread_area_.restore()) return "the function overwrote the thread's area";
  errno = 0;
  library_.restore_formats();
  CallLog::flush_standard_streams();
  OverrideTargets& targets = override_targets();
  if (std::exchange(targets.library_changed, false)) library_.restore();
  if (std::exchange(targets.signals_changed, false)) restore_signals();
  const bool made_some = !may_have_several_threads() && __libc_single_threaded == 0;
  if (made_some || run_time > time_to_make_a_thread)
    if (const auto threads = find_threads(); !threads.empty()) return threads;
  since_look_ += run_time;
  if (since_look_ >= look_interval) return look();
  if (options_.opens_files) return process_.find_descriptors();
  return {};
}

std::string_view Hygiene::look() {
  since_look_ = {};
  restore_signals();  // a function may have asked the kernel itself
  library_.restore();
  return process_.find_changes();
}

}  // namespace orchid::executor
