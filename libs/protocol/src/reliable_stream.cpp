#include "protocol/reliable_stream.h"

#include <cassert>

namespace orchid {

void ReliableStream::restart(std::string id) {
  id_ = std::move(id);
  kept_.clear();
  acknowledged_ = 0;
  received_ = 0;
}

Result<ControlFrame> ReliableStream::add(ControlMessage message) {
  if (kept_.size() >= limit_)
    return fail(ErrorCode::no_capacity,
                "the other side of the control connection has not acknowledged " +
                    std::to_string(limit_) + " messages");
  kept_.push_back(message);
  return ControlFrame{.sequence = last_sent(), .ack = received_, .body = std::move(message)};
}

ReliableStream::Arrival ReliableStream::receive(std::uint64_t sequence, std::uint64_t ack) {
  if (ack > last_sent()) return Arrival::broken;
  if (sequence > received_ + 1) return Arrival::broken;
  // A repeated frame may carry an older acknowledgement: that is no fault.
  forget_up_to(ack);
  if (sequence <= received_) return Arrival::duplicate;
  received_ = sequence;
  return Arrival::fresh;
}

std::vector<ControlFrame> ReliableStream::resume(std::uint64_t peer_ack) {
  assert(can_resume(peer_ack) && "the caller decides with can_resume first");
  forget_up_to(peer_ack);
  std::vector<ControlFrame> frames;
  frames.reserve(kept_.size());
  std::uint64_t sequence = acknowledged_;
  for (const ControlMessage& message : kept_)
    frames.push_back({.sequence = ++sequence, .ack = received_, .body = message});
  return frames;
}

void ReliableStream::forget_up_to(std::uint64_t ack) {
  while (acknowledged_ < ack && !kept_.empty()) {
    kept_.pop_front();
    ++acknowledged_;
  }
}

}  // namespace orchid
