// transport/payload_rings.h: who has which part of a slab, on every lane: inputs at the client's
// end, outputs at the worker's.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "foundation/result.h"
#include "transport/lane_layout.h"

namespace orchid::transport {

constexpr std::uint64_t align_to_line(std::uint64_t value) { return (value + 63) / 64 * 64; }

/// The client's allocator: pieces in the order of their making, given back in any order. Positions
/// count on for ever; the offset in the slab is the position modulo its size.
class PieceRing {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  explicit PieceRing(std::span<std::byte> slab) : slab_(slab) {}

  /// The number of a new piece. Errors: `no_capacity`, `too_large`.
  [[nodiscard]] Result<std::uint64_t> allocate(std::size_t size);
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t piece) const {
    return pieces_[piece % limit].position % slab_.size();
  }
  [[nodiscard]] std::byte* at(std::uint64_t piece) const { return slab_.data() + offset_of(piece); }
  /// The piece that starts at this address and has room for all of it, or `none`.
  [[nodiscard]] std::uint64_t find(std::span<const std::byte> room) const;
  void free(std::uint64_t piece);
  [[nodiscard]] bool empty() const { return first_ == next_; }

 private:
  struct Piece {
    std::uint64_t position = 0;
    std::uint64_t end = 0;
    bool free = false;
  };
  static constexpr std::size_t limit = 2 * ring_entries;
  std::span<std::byte> slab_;
  std::array<Piece, limit> pieces_{};  // a ring, oldest first
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t head_ = 0;
};

/// The worker's allocator: one output that may grow, and the published ones before it, which are
/// given back oldest first.
class OutputRing {
 public:
  explicit OutputRing(std::span<std::byte> slab) : slab_(slab) {}

  /// Starts an output without room.
  void begin() { placed_ = false; }
  /// Makes room for `size` bytes in all, and keeps the first `keep` of those at `old`. False: not
  /// now.
  [[nodiscard]] bool place(std::size_t size, const std::byte* old, std::size_t keep);
  [[nodiscard]] bool placed() const { return placed_; }
  /// No further output can be published before an old one is given back.
  [[nodiscard]] bool is_full() const { return next_ - first_ == ring_entries; }
  /// Bytes of published outputs.
  [[nodiscard]] std::uint64_t used() const { return head_ - tail_; }
  [[nodiscard]] std::uint64_t offset() const { return position_ % slab_.size(); }
  [[nodiscard]] std::byte* data() const { return slab_.data() + offset(); }
  /// The output, `size` bytes of it, belongs to answer `number` now.
  void publish(std::size_t size, std::uint64_t number);
  /// The answer whose output is the oldest here, if there is one, and giving it back.
  [[nodiscard]] std::optional<std::uint64_t> oldest() const;
  void free_oldest();

 private:
  struct Published {
    std::uint64_t end = 0;  // the position after it
    std::uint64_t number = 0;
  };
  [[nodiscard]] std::optional<std::uint64_t> find_position(std::size_t size) const;
  [[nodiscard]] bool fits(std::uint64_t position, std::size_t size) const;

  std::span<std::byte> slab_;
  std::array<Published, ring_entries> published_{};  // a ring, oldest first
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t position_ = 0;
  bool placed_ = false;
};

}  // namespace orchid::transport
