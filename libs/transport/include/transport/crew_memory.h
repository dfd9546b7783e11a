// transport/crew_memory.h: the memory that the members of a crew on one host share: for each pair
// of them two rings, which only these two have mapped, and a head for all (docs/PROTOCOL.md §4).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/crew.h"
#include "transport/lane_layout.h"

namespace orchid::transport {

/// The start of the file. All members map it writable, and trust nothing in it.
struct CrewHead {
  std::array<ControlLine, crew::most_members + 1> sleeping;  // by member
  /// By member: 1: it has nothing to do, and may be lent a child of a call. Whoever makes that 0
  /// lends it one.
  std::array<ControlLine, crew::most_members + 1> hungry;
  /// By the calls' places in the window: the number of a call that its client wants ended.
  std::array<std::atomic<std::uint64_t>, crew::window_places> cancelled;
};

/// One direction of a pair: what one member writes and the other one takes.
struct CrewRing {
  std::array<LaneEntry, crew::ring_entries> entries;
  alignas(4096) std::atomic<std::uint64_t> taken;  // entries that the reader is done with
};

/// The payload of a message that does not fit into a ring's entry, and its log. There is one for
/// each place of the window in each direction: a call is in one place at a time, so nobody else
/// uses it. Behind them are those of the children that a member has lent, and of their ends.
constexpr std::size_t crew_rooms = crew::window_places + 2 * crew::loans;
constexpr std::size_t crew_room_bytes = crew::payload_size.value + crew::log_size.value + 4096;

struct CrewLayout {
  static constexpr std::size_t head_bytes = (sizeof(CrewHead) + 4095) / 4096 * 4096;
  static constexpr std::size_t direction_bytes =
      (sizeof(CrewRing) + 4095) / 4096 * 4096 + crew_rooms * crew_room_bytes;
  static constexpr std::size_t pair_bytes = 2 * direction_bytes;

  std::uint32_t members = 0;
  /// The client and each member's pair with itself counted.
  [[nodiscard]] std::size_t pairs() const { return std::size_t{members + 1} * (members + 2) / 2; }
  [[nodiscard]] std::size_t pair_offset(std::uint32_t a, std::uint32_t b) const {
    const std::size_t low = a < b ? a : b;
    const std::size_t high = a < b ? b : a;
    return head_bytes + (high * (high + 1) / 2 + low) * pair_bytes;
  }
  [[nodiscard]] std::size_t file_bytes() const { return head_bytes + pairs() * pair_bytes; }
};

/// What the executor makes for a crew: the memory, and an eventfd for each member, the client's
/// first. Pages are taken when they are first touched.
struct CrewWires {
  UniqueFd memory;
  std::vector<UniqueFd> wake;
};
[[nodiscard]] Result<CrewWires> make_crew_wires(std::uint32_t members);

}  // namespace orchid::transport
