// transport/payload_rooms.h: who has which part of a slab, on every lane: inputs at the client's
// end, outputs at the worker's.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "foundation/result.h"
#include "transport/lane_layout.h"
#include "transport/slab_rooms.h"

namespace orchid::transport {

/// The client's allocator: pieces that are made and given back in any order.
class InputRooms {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  explicit InputRooms(std::span<std::byte> slab) : slab_(slab), rooms_(slab.size()) {}

  /// The number of a new piece. Errors: `no_capacity`, `too_large`.
  [[nodiscard]] Result<std::uint64_t> allocate(std::size_t size);
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t piece) const {
    return rooms_.offset_of(static_cast<SlabRooms::Room>(piece));
  }
  [[nodiscard]] std::byte* at(std::uint64_t piece) const { return slab_.data() + offset_of(piece); }
  /// The piece that starts at this address and has room for all of it, or `none`.
  [[nodiscard]] std::uint64_t find(std::span<const std::byte> room) const;
  void free(std::uint64_t piece) { rooms_.free(static_cast<SlabRooms::Room>(piece)); }
  [[nodiscard]] bool empty() const { return rooms_.empty(); }

 private:
  std::span<std::byte> slab_;
  SlabRooms rooms_;
};

/// The worker's allocator: one output that may grow, and the published ones before it, which are
/// given back oldest first.
class OutputRooms {
 public:
  explicit OutputRooms(std::span<std::byte> slab) : slab_(slab), rooms_(slab.size()) {}

  /// Starts an output without room.
  void begin();
  /// Makes room for `size` bytes in all, and keeps the first `keep` of those at `old`. False: not
  /// now.
  [[nodiscard]] bool place(std::size_t size, const std::byte* old, std::size_t keep);
  [[nodiscard]] bool placed() const { return output_.has_value(); }
  /// No further output can be published before an old one is given back.
  [[nodiscard]] bool is_full() const { return next_ - first_ == ring_entries; }
  /// Bytes of published outputs.
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t offset() const { return rooms_.offset_of(*output_); }
  [[nodiscard]] std::byte* data() const { return slab_.data() + offset(); }
  /// The output, `size` bytes of it, belongs to answer `number` now.
  void publish(std::size_t size, std::uint64_t number);
  /// The answer whose output is the oldest here, if there is one, and giving it back.
  [[nodiscard]] std::optional<std::uint64_t> oldest() const;
  void free_oldest();

 private:
  struct Published {
    SlabRooms::Room room = 0;
    std::uint64_t number = 0;
  };

  std::span<std::byte> slab_;
  SlabRooms rooms_;
  std::optional<SlabRooms::Room> output_;
  std::array<Published, ring_entries> published_{};  // a ring, oldest first
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace orchid::transport
