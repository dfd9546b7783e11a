// data/data_times.h: how long an executor may take for what it is asked. Pure functions.
#pragma once
#include <chrono>
#include <cstdint>

#include "foundation/units.h"

namespace orchid::gateway {

/// A room whose writer is slower than this is given up by its executor, should the gateway not have
/// done so.
[[nodiscard]] constexpr std::chrono::milliseconds time_to_write(ByteCount bytes) {
  constexpr std::chrono::minutes least{10};
  constexpr std::uint64_t slowest = 1 << 20;  // bytes a second
  return least + std::chrono::seconds(bytes.value / slowest);
}

/// The kernel looks at each page of it: tens of milliseconds for each GiB, and longer while the
/// host is busy.
[[nodiscard]] constexpr std::chrono::milliseconds time_to_seal(ByteCount bytes) {
  constexpr std::uint64_t slowest = 256 << 20;  // bytes a second
  return std::chrono::seconds(bytes.value / slowest);
}

/// The same of one that is written to a file before it is said to be sealed, when the disk is at
/// it.
[[nodiscard]] constexpr std::chrono::milliseconds time_on_disk(ByteCount bytes) {
  constexpr std::uint64_t slowest = 16 << 20;  // bytes a second
  return time_to_seal(bytes) + std::chrono::seconds(bytes.value / slowest);
}
[[nodiscard]] constexpr std::chrono::milliseconds time_to_keep(ByteCount bytes) {
  constexpr std::chrono::seconds least{30};
  return least + time_on_disk(bytes);
}

/// Its bytes are read once, from disk perhaps.
[[nodiscard]] constexpr std::chrono::milliseconds time_to_digest(ByteCount bytes) {
  constexpr std::chrono::seconds least{60};
  constexpr std::uint64_t slowest = 64 << 20;  // bytes a second
  return least + std::chrono::seconds(bytes.value / slowest);
}

}  // namespace orchid::gateway
