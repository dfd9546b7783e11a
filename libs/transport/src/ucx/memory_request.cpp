#include "ucx/memory_request.h"

#include <string>

namespace orchid::transport {
namespace {

bool is_atomic(MemoryOp op) { return op == MemoryOp::fetch_add || op == MemoryOp::compare_swap; }

/// Whether the rows lie in `memory` bytes; nothing overflows on the way.
bool lie_within(const MemoryRows& rows, std::uint64_t memory) {
  if (rows.offset > memory || rows.row > memory - rows.offset) return false;
  if (rows.count == 1) return true;
  const std::uint64_t beyond_first = memory - rows.offset - rows.row;
  return rows.stride != 0 && rows.count - 1 <= beyond_first / rows.stride;
}

}  // namespace

std::optional<Failure> MemoryRows::fault(ByteCount memory) const {
  if (count == 0) return std::nullopt;
  if (count > 1 && stride < row)
    return Failure{ErrorCode::bad_request, "rows that are " + std::to_string(stride) +
                                               " bytes apart overlap: they have " +
                                               std::to_string(row) + " bytes each"};
  if (lie_within(*this, memory.value)) return std::nullopt;
  const std::string what =
      count == 1
          ? std::to_string(row) + " bytes from byte " + std::to_string(offset) + " on"
          : std::to_string(count) + " rows of " + std::to_string(row) + " bytes, " +
                std::to_string(stride) + " apart, from byte " + std::to_string(offset) + " on";
  return Failure{ErrorCode::bad_request, what + " are not within the memory, which has " +
                                             std::to_string(memory.value) + " bytes"};
}

/// The fields of a call that a request for memory has no use for carry its own.
CallHeader encode(const MemoryRequest& request) {
  CallHeader header;
  header.request_id = request.number;
  header.kind = static_cast<std::uint8_t>(request.op);
  header.payload_offset = request.rows.offset;
  header.payload_length = request.rows.bytes();
  header.deadline_ns = is_atomic(request.op) ? request.operand : request.rows.row;
  header.origin = is_atomic(request.op) ? request.expected : request.rows.stride;
  return header;
}

DecodedMemoryRequest decode(const CallHeader& header, ByteCount memory) {
  const auto op = static_cast<MemoryOp>(header.kind);
  if (op < MemoryOp::put || op > MemoryOp::compare_swap) return {{}, "kind of request"};
  DecodedMemoryRequest decoded{{.number = header.request_id, .op = op}};
  MemoryRows& rows = decoded.request.rows;
  rows.offset = header.payload_offset;
  const std::uint64_t length = header.payload_length;
  if (is_atomic(op)) {
    decoded.request.operand = header.deadline_ns;
    decoded.request.expected = header.origin;
    rows.row = rows.stride = length;
    if (length != atomic_size || rows.offset % atomic_size != 0)
      decoded.wrong = "place of an atomic";
  } else {
    rows.row = header.deadline_ns;
    rows.stride = header.origin;
    const std::size_t most = rows.row == length ? memory_part : strided_part;
    if (length == 0 || length > most || rows.row == 0 || length % rows.row != 0)
      decoded.wrong = "length of a request";
    else
      rows.count = length / rows.row;
  }
  if (decoded.wrong == nullptr && rows.fault(memory)) decoded.wrong = "place of a request";
  return decoded;
}

}  // namespace orchid::transport
