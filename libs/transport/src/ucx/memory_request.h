// ucx/memory_request.h: a request for leased memory as the head of its frames has it
// (docs/PROTOCOL.md, "Leased memory"). Plain functions.
#pragma once
#include <cstdint>
#include <optional>

#include "protocol/call_header.h"
#include "transport/ucx_memory.h"
#include "ucx/hello.h"

namespace orchid::transport {

constexpr HelloMagic memory_magic{'O', 'R', 'C', 'H', 'M', 'E', 'M', 'O'};

struct MemoryRequest {
  std::uint64_t number = 0;  // from 1
  MemoryOp op = MemoryOp::get;
  MemoryRows rows;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  friend bool operator==(const MemoryRequest&, const MemoryRequest&) = default;
};

[[nodiscard]] CallHeader encode(const MemoryRequest& request);

struct DecodedMemoryRequest {
  MemoryRequest request;
  const char* wrong = nullptr;  // a literal; null: the request is good
};
/// Of a peer that may say anything, about a memory of so many bytes.
[[nodiscard]] DecodedMemoryRequest decode(const CallHeader& header, ByteCount memory);

}  // namespace orchid::transport
