// protocol/data_table.h: the table of data objects at the front of a call's payload
// (docs/PROTOCOL.md §4, "Data"): u32 count, u32 bytes of the table, the ids, zeros.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "protocol/data_id.h"
#include "protocol/limits.h"

namespace orchid {

/// Bytes of the table of `count` objects in front of `input` bytes; 0 for none: there is no table.
/// Both are within a line where they fit, so that they travel in the lane's entry; else the input
/// begins at a line.
[[nodiscard]] constexpr std::size_t data_table_bytes(std::size_t count, std::size_t input) {
  constexpr std::size_t head = 8;
  constexpr std::size_t line = 64;
  if (count == 0) return 0;
  const std::size_t filled = head + count * sizeof(DataId);
  if (filled <= line && input <= line - filled) return filled;
  return (filled + line - 1) / line * line;
}

/// Writes it to the front of `room`, which has `data_table_bytes(data.size(), input)` bytes and
/// those of the input. `data`: 1 to `limits::data_per_call`.
void write_data_table(std::span<const DataId> data, std::size_t input, std::span<std::byte> room);

/// What a payload names, copied out of it: its writer may change it meanwhile.
struct DataTable {
  std::size_t count = 0;
  std::array<DataId, limits::data_per_call> ids{};
  std::size_t bytes = 0;  // behind them the input begins
  [[nodiscard]] std::span<const DataId> data() const { return std::span(ids).first(count); }
};
/// Nothing: `payload` begins with no such table.
[[nodiscard]] std::optional<DataTable> read_data_table(std::span<const std::byte> payload);

}  // namespace orchid
