// transport/slab_rooms.h: which parts of a slab are in use. A slab is much larger than what is in
// use at a time, so the art is to stay on the pages that are warm.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/lane_layout.h"

namespace orchid::transport {

constexpr std::uint64_t align_to_line(std::uint64_t value) { return (value + 63) / 64 * 64; }

/// Next fit (D. Knuth, The Art of Computer Programming 1, 2.5), which starts again at the lowest
/// address once it has handed out 256 KiB: large rooms go to the first gap, small ones behind each
/// other. Rooms are given back in any order. One thread at a time.
class SlabRooms {
 public:
  /// As many as an end of a lane can have at a time, twice.
  static constexpr std::size_t limit = 2 * ring_entries;
  using Room = std::uint32_t;

  explicit SlabRooms(std::uint64_t capacity);

  /// `length`: a multiple of 64, not 0. Nothing: there is no gap so large, or no room is left over.
  [[nodiscard]] std::optional<Room> make(std::uint64_t length);
  /// Makes it longer or shorter where it is. False: something is in the way.
  [[nodiscard]] bool resize(Room room, std::uint64_t length);
  /// Gives it up for one of another length, which may overlap it. Nothing: it stays as it is.
  [[nodiscard]] std::optional<Room> remake(Room room, std::uint64_t length);
  void free(Room room);

  [[nodiscard]] std::uint64_t offset_of(Room room) const { return rooms_[room].offset; }
  [[nodiscard]] std::uint64_t length_of(Room room) const {
    return rooms_[room].end - rooms_[room].offset;
  }
  /// The room that starts there.
  [[nodiscard]] std::optional<Room> at(std::uint64_t offset) const;
  [[nodiscard]] bool empty() const { return rooms_[wall].next == wall; }

 private:
  /// Before the first room and behind the last: the list is a ring.
  static constexpr Room wall = limit;
  static constexpr std::uint64_t warm_bytes = 256 * 1024;
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    Room before = wall;
    Room next = wall;  // or of those that are not in use
  };
  [[nodiscard]] std::uint64_t gap_after(Room room) const;
  [[nodiscard]] std::optional<Room> find_gap(std::uint64_t length);
  Room insert_after(Room before, std::uint64_t offset, std::uint64_t length);

  std::uint64_t capacity_;
  std::array<Place, limit + 1> rooms_;
  Room unused_ = 0;
  Room last_made_ = wall;
  std::uint64_t made_since_start_ = 0;  // bytes
};

}  // namespace orchid::transport
