// ucx/frame.h: what one active message of the lane between hosts starts with (docs/PROTOCOL.md).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "lane_answer.h"
#include "protocol/call_header.h"
#include "protocol/limits.h"

namespace orchid::transport {

constexpr std::uint16_t lane_version = 3;
constexpr std::uint16_t crew_version = 4;  // of members of crews
constexpr unsigned message_id = 1;

enum class FrameKind : std::uint32_t {
  ready = 1,     // the first one in each direction
  first = 2,     // a call or an answer, and the first or all of its bytes
  more = 3,      // the next bytes of it
  released = 4,  // nothing but the field of that name
  trim = 5,      // the lane is idle: give memory back
};

struct Frame {
  std::array<std::byte, 16> key{};
  FrameKind kind = FrameKind::ready;
  std::uint32_t size = 0;      // bytes of payload in this frame
  std::uint64_t position = 0;  // of these bytes in the payload
  std::uint64_t released = 0;  // client: answers that it has released, counted in their order
  CallHeader header;           // sequence: number of the frame in its direction, from 1
};
static_assert(sizeof(Frame) == 104 && std::is_trivially_copyable_v<Frame>);

/// Bytes that travel for a header: the payload, and the log behind it. Nothing: they cannot fit
/// into `slab_size` bytes.
[[nodiscard]] inline std::optional<std::uint64_t> transfer_size(const CallHeader& header,
                                                                std::size_t slab_size) {
  if (header.payload_length > slab_size) return std::nullopt;
  if ((header.flags & flag_log) != 0 && header.origin > limits::log_size.value) return std::nullopt;
  return bytes_with_log(header);
}

}  // namespace orchid::transport
