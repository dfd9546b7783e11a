#include "ucx/inbox.h"

#include <cstring>

namespace orchid::transport {

const char* Inbox::take(const Frame& frame, std::span<const std::byte> payload,
                        std::uint64_t taken) noexcept {
  if (frame.header.request_id != arrived_ + 1) return "request id";
  if (frame.kind == FrameKind::first) return start(frame, payload, taken);
  const CallHeader& header = entry(arrived_).header;
  if (!unfinished_ || frame.position != got_) return "order of pieces";
  if (payload.empty() || payload.size() > expected_ - got_) return "length of a piece";
  std::memcpy(slab_.data() + header.payload_offset + got_, payload.data(), payload.size());
  got_ += payload.size();
  if (got_ == expected_) {
    unfinished_ = false;
    ++arrived_;
  }
  return nullptr;
}

const char* Inbox::start(const Frame& frame, std::span<const std::byte> payload,
                         std::uint64_t taken) noexcept {
  const CallHeader& header = frame.header;
  if (unfinished_) return "a call within another";
  if (arrived_ - taken >= ring_entries - 1) return "too many calls";
  if (frame.position != 0) return "order of pieces";
  const auto size = transfer_size(header, slab_.size());
  if (!size || payload.size() > *size) return "length";
  LaneEntry& fresh = entry(arrived_);
  if (header.payload_offset == inline_payload) {
    if (*size > inline_bytes || payload.size() != *size) return "length";
    if (!payload.empty()) std::memcpy(fresh.payload, payload.data(), payload.size());
  } else {
    if (header.payload_offset > slab_.size() || *size > slab_.size() - header.payload_offset)
      return "place of a payload";
    if (!payload.empty())
      std::memcpy(slab_.data() + header.payload_offset, payload.data(), payload.size());
    if (payload.empty() && *size != 0) return "length of a piece";
  }
  fresh.header = header;
  got_ = payload.size();
  expected_ = *size;
  unfinished_ = got_ != expected_;
  if (!unfinished_) ++arrived_;
  return nullptr;
}

}  // namespace orchid::transport
