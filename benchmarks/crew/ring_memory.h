// crew/ring_memory.h: the rings of a crew on one host: one for each ordered pair of processes.
#pragma once
#include <array>
#include <cstddef>

#include "transport/lane_layout.h"

namespace orchid::bench {

/// Written by one process and read by one other. Both map it, and trust nothing in it.
struct alignas(128) CrewRing {
  transport::ControlLine taken;  // entries, so far; by the reader, now and then
  std::array<transport::LaneEntry, transport::ring_entries> entries;
};
/// Of a process: others look at it before they let it sleep.
struct SleepLine {
  transport::ControlLine sleeping;
};

[[nodiscard]] constexpr std::size_t ring_memory_bytes(unsigned processes) {
  return std::size_t{processes} * processes * sizeof(CrewRing) + processes * sizeof(SleepLine);
}
[[nodiscard]] inline CrewRing& ring_of(std::byte* memory, unsigned processes, unsigned from,
                                       unsigned to) {
  return reinterpret_cast<CrewRing*>(memory)[std::size_t{from} * processes + to];
}
[[nodiscard]] inline transport::ControlLine& sleep_line_of(std::byte* memory, unsigned processes,
                                                           unsigned process) {
  std::byte* lines = memory + std::size_t{processes} * processes * sizeof(CrewRing);
  return reinterpret_cast<SleepLine*>(lines)[process].sleeping;
}

}  // namespace orchid::bench
