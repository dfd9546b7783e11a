// protocol/memory_access.h: what a worker asks, during a call, of the process that reaches a leased
// memory for it, over a packet socket between the two (docs/PROTOCOL.md §11, "Memory in calls").
//
// Answers come in the order of requests, of which some may be on their way. Bytes lie behind the
// head, in the same packet. Each end checks what the other has sent: a process that gets anything
// else hangs up, and a worker takes nothing else for an answer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/error_code.h"

namespace orchid {

enum class MemoryAsk : std::uint16_t {
  put = 1,           // writes `bytes` bytes at `offset`, which go with it
  get = 2,           // reads them
  fetch_add = 3,     // adds `operand` to the 8 bytes at `offset`
  compare_swap = 4,  // writes `operand` there, if `expected` is there
  fence = 5,         // all before it is done
};

constexpr std::size_t memory_access_part = 64 * 1024;  // bytes of one request, at most
constexpr std::size_t memory_access_window = 16;       // requests without an answer, at most

/// `sequence`: not 0, and another one than that of the request before.
struct MemoryAccess {
  MemoryAsk ask = MemoryAsk::fence;
  std::uint32_t sequence = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;   // of put and get, from 1 to `memory_access_part`; else 0
  std::uint64_t row = 0;     // of put and get: of a row, of which there are whole ones; 0: one row
  std::uint64_t stride = 0;  // of rows: from the beginning of one to that of the next
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  friend bool operator==(const MemoryAccess&, const MemoryAccess&) = default;
};

enum class MemoryVerdict : std::uint16_t {
  done = 1,
  refused =
      2,  // `code` and `message` say why; nothing of it was done, or all that there was is gone
  unknown = 3,  // an atomic that was sent, and has no answer; the same say why
};

/// `sequence`: the request's.
struct MemoryAnswer {
  MemoryVerdict verdict = MemoryVerdict::done;
  std::uint32_t sequence = 0;
  std::uint64_t before = 0;              // of an atomic
  ErrorCode code = ErrorCode::internal;  // unless `done`
  std::string message{};                 // likewise; cut at `longest_memory_message`
  friend bool operator==(const MemoryAnswer&, const MemoryAnswer&) = default;
};

constexpr std::size_t longest_memory_message = 472;

/// Behind the head come the bytes: `bytes` of a put, else none.
[[nodiscard]] std::string encode(const MemoryAccess& access, std::string_view bytes = {});
/// Without the bytes, which are sent behind it.
[[nodiscard]] std::string encode_head(const MemoryAccess& access);
/// `bytes`: those of a get that is done, else none.
[[nodiscard]] std::string encode(const MemoryAnswer& answer, std::string_view bytes = {});

template <typename Head>
struct MemoryPacket {
  Head head;
  std::string_view bytes;  // of the packet
};
/// Nothing: it is none, or has other bytes than it says.
[[nodiscard]] std::optional<MemoryPacket<MemoryAccess>> parse_memory_access(
    std::string_view packet);
/// Nothing: it is none, or answers with more or fewer than `bytes` bytes where it is done.
[[nodiscard]] std::optional<MemoryPacket<MemoryAnswer>> parse_memory_answer(std::string_view packet,
                                                                            std::size_t bytes);

}  // namespace orchid
