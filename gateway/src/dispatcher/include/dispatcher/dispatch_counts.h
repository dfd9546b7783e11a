// dispatcher/dispatch_counts.h: what became of the workers that places keep for their modules.
#pragma once
#include <atomic>
#include <cstdint>

namespace orchid::gateway {

/// Of the dispatchers of one thread, which counts; any thread reads.
struct DispatchCounts {
  std::atomic<std::uint64_t> switches{0};   // a call went to another worker than the one before
  std::atomic<std::uint64_t> swaps{0};      // a module got a new worker at a place that had some
  std::atomic<std::uint64_t> evictions{0};  // for which the one that was used longest ago went

  static void add(std::atomic<std::uint64_t>& count) {
    // One writer: no read-modify-write instruction is needed.
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

}  // namespace orchid::gateway
