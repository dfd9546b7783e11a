#include "transport/slab_rooms.h"

namespace orchid::transport {

SlabRooms::SlabRooms(std::uint64_t capacity) : capacity_(capacity) {
  for (Room room = 0; room < limit; ++room) rooms_[room].next = room + 1;  // the last one: the wall
}

std::uint64_t SlabRooms::gap_after(Room room) const {
  const Room next = rooms_[room].next;
  return (next == wall ? capacity_ : rooms_[next].offset) - rooms_[room].end;
}

/// The room before the gap. From the last one on, then once around.
std::optional<SlabRooms::Room> SlabRooms::find_gap(std::uint64_t length) {
  if (made_since_start_ >= warm_bytes || empty()) {
    last_made_ = wall;
    made_since_start_ = 0;
  }
  Room room = last_made_;
  do {
    if (gap_after(room) >= length) return room;
    room = rooms_[room].next;
  } while (room != last_made_);
  return std::nullopt;
}

SlabRooms::Room SlabRooms::insert_after(Room before, std::uint64_t offset, std::uint64_t length) {
  const Room room = unused_;
  unused_ = rooms_[room].next;
  const Room next = rooms_[before].next;
  rooms_[room] = {.offset = offset, .end = offset + length, .before = before, .next = next};
  rooms_[before].next = room;
  rooms_[next].before = room;
  return room;
}

std::optional<SlabRooms::Room> SlabRooms::make(std::uint64_t length) {
  if (unused_ == wall) return std::nullopt;
  const auto before = find_gap(length);
  if (!before) return std::nullopt;
  last_made_ = insert_after(*before, rooms_[*before].end, length);
  made_since_start_ += length;
  return last_made_;
}

bool SlabRooms::resize(Room room, std::uint64_t length) {
  if (length > length_of(room) + gap_after(room)) return false;
  rooms_[room].end = rooms_[room].offset + length;
  return true;
}

std::optional<SlabRooms::Room> SlabRooms::remake(Room room, std::uint64_t length) {
  const Place old = rooms_[room];
  free(room);
  if (const auto made = make(length)) return made;
  // What was given up last is taken up again: the same room.
  (void)insert_after(old.before, old.offset, old.end - old.offset);
  return std::nullopt;
}

void SlabRooms::free(Room room) {
  Place& place = rooms_[room];
  rooms_[place.before].next = place.next;
  rooms_[place.next].before = place.before;
  if (last_made_ == room) last_made_ = place.before;
  place.next = unused_;
  unused_ = room;
}

std::optional<SlabRooms::Room> SlabRooms::at(std::uint64_t offset) const {
  // It is the last one, as a rule.
  Room room = last_made_;
  do {
    if (room != wall && rooms_[room].offset == offset) return room;
    room = rooms_[room].before;
  } while (room != last_made_);
  return std::nullopt;
}

}  // namespace orchid::transport
