// protocol/spill_time.h: how long an executor may take to make room by putting data on disk. Both
// it and the gateway, which waits for it, go by this.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "foundation/units.h"

namespace orchid {

/// In addition to what it has for any answer: for a room of so many bytes.
[[nodiscard]] constexpr std::chrono::milliseconds time_to_spill(ByteCount bytes) {
  constexpr std::uint64_t slowest = 64 << 20;  // bytes a second, written to disk
  constexpr std::chrono::seconds most{60};
  return std::min(most, std::chrono::seconds(bytes.value / slowest));
}

}  // namespace orchid
