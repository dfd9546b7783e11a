// transport/memory_parts.h: rows of a memory, in the parts in which they are asked for.
#pragma once
#include <algorithm>
#include <cstdint>

#include "transport/ucx_memory.h"

namespace orchid::transport {

struct MemoryPartLimits {
  std::uint64_t of_row = memory_part;    // bytes of one row at once
  std::uint64_t of_rows = strided_part;  // of several
};

/// Calls `act(part, its place among the bytes)` for each part of `rows`, which have no fault, in
/// their order, until it fails. A row that is too long for a part with others is by itself.
template <typename Act>
auto for_each_memory_part(const MemoryRows& rows, const MemoryPartLimits& limits, Act act)
    -> decltype(act(rows, std::uint64_t{0})) {
  if (rows.row == 0) return {};
  const std::uint64_t most = std::max<std::uint64_t>(limits.of_rows / rows.row, 1);
  for (std::uint64_t i = 0; i < rows.count;) {
    const std::uint64_t count = std::min(rows.count - i, most);
    const MemoryRows part{.offset = rows.offset + i * rows.stride,
                          .row = rows.row,
                          .stride = rows.stride,
                          .count = count};
    if (count > 1) {
      if (auto good = act(part, i * rows.row); !good) return good;
    }
    for (std::uint64_t done = 0; count == 1 && done < rows.row; done += limits.of_row) {
      const MemoryRows piece{.offset = part.offset + done,
                             .row = std::min(limits.of_row, rows.row - done)};
      if (auto good = act(piece, i * rows.row + done); !good) return good;
    }
    i += count;
  }
  return {};
}

}  // namespace orchid::transport
