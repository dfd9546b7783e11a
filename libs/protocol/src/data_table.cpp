#include "protocol/data_table.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace orchid {
namespace {

struct TableHead {
  std::uint32_t count = 0;
  std::uint32_t bytes = 0;  // of the table, behind which the input begins
};
static_assert(sizeof(TableHead) == 8);

}  // namespace

void write_data_table(std::span<const DataId> data, std::size_t input, std::span<std::byte> room) {
  assert(!data.empty() && data.size() <= limits::data_per_call);
  const std::size_t whole = data_table_bytes(data.size(), input);
  assert(room.size() >= whole);
  const TableHead head{.count = static_cast<std::uint32_t>(data.size()),
                       .bytes = static_cast<std::uint32_t>(whole)};
  std::memcpy(room.data(), &head, sizeof(head));
  std::memcpy(room.data() + sizeof(head), data.data(), data.size_bytes());
  const std::size_t written = sizeof(head) + data.size_bytes();
  std::ranges::fill(room.subspan(written, whole - written), std::byte{0});
}

std::optional<DataTable> read_data_table(std::span<const std::byte> payload) {
  TableHead head;
  if (payload.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, payload.data(), sizeof(head));
  if (head.count == 0 || head.count > limits::data_per_call) return std::nullopt;
  if (payload.size() < head.bytes ||
      head.bytes != data_table_bytes(head.count, payload.size() - head.bytes))
    return std::nullopt;
  std::optional<DataTable> table(std::in_place);  // at its place at once: it has 1 KiB
  table->count = head.count;
  table->bytes = head.bytes;
  std::memcpy(table->ids.data(), payload.data() + sizeof(head), head.count * sizeof(DataId));
  return table;
}

}  // namespace orchid
