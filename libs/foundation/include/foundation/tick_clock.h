// foundation/tick_clock.h: the processor's time counter, for the few places where 20 ns for
// clock_gettime are too many.
#pragma once
#include <chrono>
#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace orchid {

/// Counts that grow at a constant rate and are the same on all cores and in all processes of a
/// host. About 8 ns. Any thread.
[[nodiscard]] inline std::uint64_t ticks_now() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
#endif
}

/// Converts ticks to time. A value; measured once, then copied.
class TickRate {
 public:
  /// Compares the counter with CLOCK_MONOTONIC for 2 ms; good to about 0.1 %.
  [[nodiscard]] static TickRate measure() {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t first = ticks_now();
    auto now = start;
    while (now - start < std::chrono::milliseconds(2)) now = std::chrono::steady_clock::now();
    const std::uint64_t last = ticks_now();
    return TickRate(std::chrono::duration<double, std::nano>(now - start).count() /
                    static_cast<double>(last - first));
  }
  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const {
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(ticks) * nanoseconds_per_tick_));
  }
  [[nodiscard]] std::uint64_t ticks(std::chrono::nanoseconds duration) const {
    return static_cast<std::uint64_t>(static_cast<double>(duration.count()) /
                                      nanoseconds_per_tick_);
  }

 private:
  explicit TickRate(double rate) : nanoseconds_per_tick_(rate) {}
  double nanoseconds_per_tick_;
};

}  // namespace orchid
