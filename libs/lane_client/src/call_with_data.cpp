#include "lane_client/call_with_data.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "protocol/call_header.h"
#include "protocol/data_table.h"
#include "protocol/limits.h"

namespace orchid::lane_client {

Result<std::uint64_t> send_with_data(transport::LaneClient& client, transport::LaneCall call,
                                     std::span<const DataId> data) {
  constexpr std::size_t small = 4096;
  const std::size_t table = data_table_bytes(data.size(), call.input.size());
  const std::size_t size = table + call.input.size();
  const auto write_to = [&](std::span<std::byte> room) {
    write_data_table(data, call.input.size(), room);
    std::ranges::copy(call.input, room.subspan(table).begin());
    call.input = room;
    call.flags |= flag_data;
  };
  if (size <= small) {
    std::array<std::byte, small> whole;  // what is sent of it is written
    write_to(std::span(whole).first(size));
    return client.send(call);
  }
  const auto room = client.allocate(size);
  if (!room) return fail(room.error());
  write_to(*room);
  auto sent = client.send(call);
  if (!sent) client.abandon(*room);
  return sent;
}

std::vector<LaneDetach> detach_messages(std::span<const DataId> data) {
  std::vector<LaneDetach> messages;
  while (!data.empty()) {
    const auto piece = data.first(std::min(data.size(), limits::data_per_call));
    messages.push_back({{piece.begin(), piece.end()}});
    data = data.subspan(piece.size());
  }
  return messages;
}

}  // namespace orchid::lane_client
