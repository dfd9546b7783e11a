// ucx/inbox.h: the calls or answers that have come, put together from their frames.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/lane_layout.h"
#include "ucx/frame.h"

namespace orchid::transport {

/// Up to 256 entries; large payloads lie in a slab, at the offset that the sender chose: it has one
/// of the same size and knows what is free, so nothing is asked for and nothing can overflow.
/// Belongs to its lane's thread.
class Inbox {
 public:
  explicit Inbox(std::span<std::byte> slab)
      : slab_(slab), entries_(std::make_unique<std::array<LaneEntry, ring_entries>>()) {}

  /// Entries that are complete, since the start.
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] const LaneEntry& entry(std::uint64_t number) const {
    return (*entries_)[number % ring_entries];
  }
  [[nodiscard]] LaneEntry& entry(std::uint64_t number) {
    return (*entries_)[number % ring_entries];
  }
  [[nodiscard]] std::span<std::byte> slab() const { return slab_; }

  /// A frame of kind `first` or `more`. `taken`: entries before it may be overwritten. Returns what
  /// is wrong with it, or null.
  [[nodiscard]] const char* take(const Frame& frame, std::span<const std::byte> payload,
                                 std::uint64_t taken) noexcept;

 private:
  [[nodiscard]] const char* start(const Frame& frame, std::span<const std::byte> payload,
                                  std::uint64_t taken) noexcept;

  std::span<std::byte> slab_;
  std::unique_ptr<std::array<LaneEntry, ring_entries>> entries_;
  std::uint64_t arrived_ = 0;
  bool unfinished_ = false;  // entry `arrived_` has begun
  std::uint64_t got_ = 0;
  std::uint64_t expected_ = 0;
};

}  // namespace orchid::transport
