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

/// 0 when `start` is not over: another core's counter may be some ticks ahead, and a processor may
/// read its own before it has loaded what another has written.
[[nodiscard]] inline std::uint64_t ticks_since(std::uint64_t start) {
  const std::uint64_t now = ticks_now();
  return now > start ? now - start : 0;
}

/// One moment on both clocks.
struct TickMark {
  std::chrono::steady_clock::time_point time;
  std::uint64_t ticks = 0;
  /// Reads them again when something came in between.
  [[nodiscard]] static TickMark now() {
    TickMark best;
    std::uint64_t closest = ~std::uint64_t{0};
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::uint64_t before = ticks_now();
      const auto time = std::chrono::steady_clock::now();
      const std::uint64_t after = ticks_now();
      if (after - before >= closest) continue;
      closest = after - before;
      best = {time, before + closest / 2};
    }
    return best;
  }
};

/// Converts ticks to time. A value; measured once, then copied.
class TickRate {
 public:
  /// Compares the counter with CLOCK_MONOTONIC for 2 ms; good to about 0.1 %.
  [[nodiscard]] static TickRate measure() {
    return since(TickMark::now(), std::chrono::milliseconds(2));
  }
  /// The same over a time that has been used for something else; waits for what is missing of
  /// `least`.
  [[nodiscard]] static TickRate since(
      const TickMark& start,
      std::chrono::steady_clock::duration least = std::chrono::microseconds(200)) {
    TickMark now = TickMark::now();
    while (now.time - start.time < least) now = TickMark::now();
    return TickRate(std::chrono::duration<double, std::nano>(now.time - start.time).count() /
                    static_cast<double>(now.ticks - start.ticks));
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
