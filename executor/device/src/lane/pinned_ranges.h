// lane/pinned_ranges.h: the parts of a slab that are registered with the driver, so that the GPU
// copies to and from them by itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "driver/driver.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the device process's thread. `unpin_all` while no copy is under way, and before anybody
/// may put other pages in the place of those that the slab has.
class PinnedRanges {
 public:
  /// Registered at a time: each window of this size has one range, which grows with what is used.
  static constexpr std::uint64_t window = 64ULL << 20;
  /// Registering takes longer than it saves for less, unless the place is registered already.
  static constexpr std::uint64_t worth_pinning = 256ULL << 10;

  PinnedRanges(Driver& driver, std::span<std::byte> slab) : driver_(driver), slab_(slab) {}
  ~PinnedRanges() { unpin_all(); }
  PinnedRanges(const PinnedRanges&) = delete;
  PinnedRanges& operator=(const PinnedRanges&) = delete;

  /// Of `size` bytes from `offset`, which lie in the slab: how many from there on, at least 1 and
  /// at most to the window's end, can be copied directly; 0: not these, use a staging buffer.
  [[nodiscard]] DriverResult<std::uint64_t> reach(std::uint64_t offset, std::uint64_t size);
  void unpin_all();
  [[nodiscard]] ByteCount pinned() const { return pinned_; }
  [[nodiscard]] std::span<std::byte> slab() const { return slab_; }

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] std::span<std::byte> bytes(const Range& range) const {
    return slab_.subspan(range.begin, range.end - range.begin);
  }
  void drop(const Range& range);

  Driver& driver_;
  std::span<std::byte> slab_;
  std::map<std::uint64_t, Range> ranges_;  // by window
  ByteCount pinned_;
  bool refused_ = false;  // the driver has; it is not asked again
};

}  // namespace orchid::executor
