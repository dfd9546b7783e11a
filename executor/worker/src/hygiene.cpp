#include "hygiene.h"

#include <sched.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <ctime>

#include "call_log.h"
#include "crash_report.h"
#include "runtime_overrides.h"

namespace orchid::executor {
namespace {

/// In less a call cannot have made one, as a rule: the system call alone takes longer.
constexpr std::chrono::microseconds time_to_make_a_thread{4};
constexpr int looks_for_threads = 50;

}  // namespace

Hygiene::Hygiene(const Options& options)
    : options_(options), floating_point_(read_floating_point()) {}

void Hygiene::remember() {
  if (options_.descriptors >= 0) descriptors_at_start_ = count_entries(options_.descriptors);
  if (options_.threads >= 0) threads_at_start_ = count_entries(options_.threads);
}

Hygiene::FloatingPoint Hygiene::read_floating_point() {
#if defined(__x86_64__)
  std::uint32_t vector = 0;
  std::uint16_t legacy = 0;
  asm volatile("stmxcsr %0" : "=m"(vector));
  asm volatile("fnstcw %0" : "=m"(legacy));
  return {vector & 0xffc0U, legacy};  // without the sticky exception flags
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return {static_cast<std::uint32_t>(value), 0};
#else
  return {};
#endif
}

void Hygiene::write_floating_point(FloatingPoint control) {
#if defined(__x86_64__)
  asm volatile("ldmxcsr %0" : : "m"(control.vector));
  asm volatile("fldcw %0" : : "m"(control.legacy));
#elif defined(__aarch64__)
  const std::uint64_t value = control.vector;
  asm volatile("msr fpcr, %0" : : "r"(value));
#endif
}

int Hygiene::count_entries(int directory) {
  alignas(8) std::array<char, 4096> buffer{};
  if (::lseek(directory, 0, SEEK_SET) < 0) return -1;
  int count = 0;
  while (true) {
    const long got = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (got <= 0) return got < 0 ? -1 : count - 2;  // less "." and ".."
    for (long at = 0; at < got; ++count) {
      constexpr long length_offset = 16;  // of linux_dirent64::d_reclen
      at += static_cast<unsigned char>(buffer[static_cast<std::size_t>(at + length_offset)]) |
            static_cast<unsigned char>(buffer[static_cast<std::size_t>(at + length_offset + 1)])
                << 8;
    }
  }
}

/// Unsharing what a process with one thread does not share does nothing and succeeds; with more it
/// fails. The cheapest way to ask: no directory is read.
bool Hygiene::has_own_threads_only() const {
  if (options_.threads >= 0) return count_entries(options_.threads) == threads_at_start_;
  return ::syscall(SYS_unshare, CLONE_THREAD) == 0;
}

std::string Hygiene::find_threads() const {
  // One that has been joined may need a moment more until the kernel has forgotten it.
  for (int look = 0; look < looks_for_threads; ++look) {
    if (has_own_threads_only()) return {};
    const timespec moment{0, 100'000};
    ::nanosleep(&moment, nullptr);
  }
  return "the function left a thread running";
}

std::string Hygiene::restore_after_call(std::chrono::nanoseconds run_time) {
  const FloatingPoint now = read_floating_point();
  if (now.vector != floating_point_.vector || now.legacy != floating_point_.legacy)
    write_floating_point(floating_point_);
  CallLog::flush_standard_streams();
  if (OverrideTargets& targets = override_targets(); targets.signals_changed) {
    restore_signals();
    targets.signals_changed = false;
  }
  const bool made_some = options_.threads < 0 && __libc_single_threaded == 0;
  if (made_some || run_time > time_to_make_a_thread)
    if (std::string threads = find_threads(); !threads.empty()) return threads;
  if (options_.descriptors >= 0)
    if (const int open = count_entries(options_.descriptors); open != descriptors_at_start_)
      return "the function left " + std::to_string(open - descriptors_at_start_) +
             " descriptor(s) open";
  return {};
}

}  // namespace orchid::executor
