#include "transport/answer_shelf.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "protocol/crew.h"

namespace orchid::transport {
namespace {

struct Record {
  std::uint64_t request_id = 0;
  std::uint64_t key = 0;
  std::uint64_t size = 0;
};
constexpr std::size_t head_bytes = 64;

std::size_t room_of(std::size_t answer) { return sizeof(Record) + (answer + 7) / 8 * 8; }

/// At its beginning a half says how many bytes of it are in use.
std::atomic_ref<std::uint64_t> used_of(std::span<const std::byte> half) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(half.data())));
}

void read_half(std::span<const std::byte> half, const AnswerShelf::Reader& reader) {
  const std::size_t used = std::min<std::size_t>(used_of(half).load(std::memory_order_acquire),
                                                 half.size() - head_bytes);
  const std::span<const std::byte> records = half.subspan(head_bytes, used);
  for (std::size_t at = 0; at + sizeof(Record) <= used;) {
    Record record;
    std::memcpy(&record, records.data() + at, sizeof(record));
    if (record.size > crew::payload_size.value || at + room_of(record.size) > used) return;
    reader(record.request_id, record.key, records.subspan(at + sizeof(record), record.size));
    at += room_of(record.size);
  }
}

std::size_t half_size(std::size_t whole) { return whole / 2 / head_bytes * head_bytes; }

}  // namespace

bool AnswerShelf::put(std::uint64_t request_id, std::uint64_t key,
                      std::span<const std::byte> answer, WhenFull when_full) {
  const std::size_t size = half_size(memory_.size());
  const std::size_t needed = room_of(answer.size());
  if (answer.size() > crew::payload_size.value || size < head_bytes + needed) return false;
  std::span<std::byte> half = memory_.subspan(half_ * size, size);
  std::size_t used = used_of(half).load(std::memory_order_relaxed);
  if (used + needed > size - head_bytes) {
    if (when_full == WhenFull::stop && half_ + 1 == halves) return false;
    half_ = (half_ + 1) % halves;
    half = memory_.subspan(half_ * size, size);
    used = 0;
    used_of(half).store(0, std::memory_order_release);
  }
  const Record record{.request_id = request_id, .key = key, .size = answer.size()};
  std::byte* const place = half.data() + head_bytes + used;
  std::memcpy(place, &record, sizeof(record));
  if (!answer.empty()) std::memcpy(place + sizeof(record), answer.data(), answer.size());
  used_of(half).store(used + needed, std::memory_order_release);
  return true;
}

std::size_t AnswerShelf::filled(std::span<const std::byte> memory) {
  const std::size_t size = half_size(memory.size());
  if (size <= head_bytes) return 0;
  std::size_t filled = 0;
  for (std::size_t half = 0; half < halves; ++half)
    filled += used_of(memory.subspan(half * size, size)).load(std::memory_order_acquire);
  return filled;
}

void AnswerShelf::read(std::span<const std::byte> memory, const Reader& reader) {
  const std::size_t size = half_size(memory.size());
  if (size <= head_bytes) return;
  for (std::size_t half = 0; half < halves; ++half)
    read_half(memory.subspan(half * size, size), reader);
}

}  // namespace orchid::transport
