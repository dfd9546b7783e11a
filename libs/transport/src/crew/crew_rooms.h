// crew/crew_rooms.h: where in one direction of a pair its ring and rooms lie, and what is in a
// room.
#pragma once
#include <cstddef>
#include <cstdint>

#include "transport/crew_memory.h"

namespace orchid::transport {

constexpr std::size_t crew_rooms_offset = (sizeof(CrewRing) + 4095) / 4096 * 4096;

/// Before the text of a log.
struct CrewLogPrefix {
  std::uint64_t dropped = 0;
  std::uint64_t length = 0;
};
static_assert(crew_room_bytes >=
              crew::payload_size.value + 64 + sizeof(CrewLogPrefix) + crew::log_size.value);

[[nodiscard]] inline CrewRing& crew_ring_at(std::byte* direction) {
  return *reinterpret_cast<CrewRing*>(direction);
}
[[nodiscard]] inline std::byte* crew_room_at(std::byte* direction, std::size_t number) {
  return direction + crew_rooms_offset + number * crew_room_bytes;
}
/// Of what a message carries, in its direction. A loan's number must have been looked at.
[[nodiscard]] inline std::size_t crew_room_number(const CallHeader& header, std::uint32_t loan) {
  if (header.kind == static_cast<std::uint8_t>(crew::MessageKind::child))
    return crew::window_places + loan;
  if (header.kind == static_cast<std::uint8_t>(crew::MessageKind::child_end))
    return crew::window_places + crew::loans + loan;
  return crew::place_of(header.request_id);
}

}  // namespace orchid::transport
