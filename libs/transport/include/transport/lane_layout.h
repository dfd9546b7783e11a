// transport/lane_layout.h: where things lie in the memory file of a local lane (docs/PROTOCOL.md
// §4).
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "foundation/units.h"
#include "protocol/call_header.h"
#include "protocol/limits.h"

namespace orchid::transport {

constexpr std::size_t ring_entries = 256;
constexpr std::size_t inline_bytes = 64;

/// One ring entry: two cache lines, which the prefetcher fetches as a pair.
struct alignas(128) LaneEntry {
  CallHeader header;
  std::byte payload[inline_bytes];
};
static_assert(sizeof(LaneEntry) == 128);

struct alignas(64) ControlLine {
  std::atomic<std::uint64_t> value;
};

struct LogHead {
  std::atomic<std::uint64_t> request_id;
  std::atomic<std::uint64_t>
      length;  // bytes of text that follow; over limits::log_size: what was dropped is counted too
};

/// The start of the file. Both sides map it writable and trust nothing in it.
struct LaneControl {
  ControlLine client_sleeping;
  ControlLine worker_sleeping;
  ControlLine progress;  // of the running call; 0: it has not said
};

/// How far a call is, in one word, so that nobody reads the progress of another call: the request's
/// id, and thousandths.
constexpr unsigned progress_bits = 10;
constexpr std::uint64_t whole_progress = 1000;
[[nodiscard]] constexpr std::uint64_t pack_progress(std::uint64_t request_id,
                                                    std::uint64_t thousandths) {
  return request_id << progress_bits | thousandths;
}
/// The thousandths of that request, however many the word says; nothing: it is of another one.
[[nodiscard]] constexpr std::optional<std::uint64_t> progress_of(std::uint64_t request_id,
                                                                 std::uint64_t word) {
  if (word == 0 || word >> progress_bits != request_id) return std::nullopt;
  return std::min(word & ((1U << progress_bits) - 1), whole_progress);
}

constexpr std::size_t request_ring_offset = 4096;
constexpr std::size_t ring_bytes = ring_entries * sizeof(LaneEntry);
constexpr std::size_t response_ring_offset = request_ring_offset + ring_bytes;
constexpr std::size_t released_offset = response_ring_offset + ring_bytes;
constexpr std::size_t log_offset = released_offset + 4096;
constexpr std::size_t log_bytes = sizeof(LogHead) + limits::log_size.value;
constexpr std::size_t slab_offset = (log_offset + log_bytes + 4095) / 4096 * 4096;

/// Sizes of the two slabs, both multiples of 4096; the rest of the layout is fixed. The largest
/// input or output and some more: pages are taken when they are first touched.
struct LaneGeometry {
  ByteCount request_bytes{limits::direct_size.value + (64ULL << 20)};
  ByteCount response_bytes{limits::direct_size.value + (64ULL << 20)};
  [[nodiscard]] std::size_t file_bytes() const {
    return slab_offset + request_bytes.value + response_bytes.value;
  }
};

}  // namespace orchid::transport
