// foundation/thread_counter.h: counts that one thread keeps and others add up, for metrics.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace orchid {

/// Written by one thread, read by any.
class ThreadCounter {
 public:
  void add(std::uint64_t amount = 1) {
    // One writer: no read-modify-write instruction is needed.
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// A counter of all threads together. `Metrics` is what each thread has.
template <typename Metrics>
[[nodiscard]] std::uint64_t sum(std::span<const Metrics* const> threads,
                                ThreadCounter Metrics::* counter) {
  std::uint64_t total = 0;
  for (const Metrics* thread : threads) total += (thread->*counter).value();
  return total;
}

/// The same for each counter of an array.
template <typename Metrics, std::size_t Size>
[[nodiscard]] std::array<std::uint64_t, Size> sums(
    std::span<const Metrics* const> threads, std::array<ThreadCounter, Size> Metrics::* counters) {
  std::array<std::uint64_t, Size> totals{};
  for (const Metrics* thread : threads)
    for (std::size_t i = 0; i < Size; ++i) totals[i] += (thread->*counters)[i].value();
  return totals;
}

}  // namespace orchid
