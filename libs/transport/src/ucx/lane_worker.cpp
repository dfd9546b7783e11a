#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "lane_answer.h"
#include "ucx/ends.h"

namespace orchid::transport {

UcxLaneWorker::State::State(Slab requests, Slab responses, std::unique_ptr<UcxLink> link)
    : requests_(std::move(requests)),
      responses_(std::move(responses)),
      link_(std::move(link)),
      inbox_(requests_.bytes()),
      outputs_(responses_.bytes()) {
  link_->set_sink(this);
}

const char* UcxLaneWorker::State::on_frame(const Frame& frame,
                                           std::span<const std::byte> payload) noexcept {
  if (frame.released < released_ || frame.released > next_) return "count of releases";
  released_ = frame.released;
  switch (frame.kind) {
    case FrameKind::first:
      if (const char* wrong = check_request(frame.header)) return wrong;
      [[fallthrough]];
    case FrameKind::more:
      return inbox_.take(frame, payload, released_);
    case FrameKind::released:
      return payload.empty() ? nullptr : "length of a frame";
    case FrameKind::trim:
      if (!payload.empty()) return "length of a frame";
      if (released_ != next_ || inbox_.arrived() != next_) return "a trim while calls are here";
      trim_ = true;
      return nullptr;
    case FrameKind::ready:
      break;
  }
  return "kind of frame";
}

bool UcxLaneWorker::State::ready() {
  if (inbox_.arrived() == next_) link_->progress();
  return inbox_.arrived() != next_ || link_->failure();
}

Result<std::optional<LaneRequest>> UcxLaneWorker::State::receive() {
  if (inbox_.arrived() == next_) link_->progress();
  if (link_->failure()) return fail(*link_->failure());
  if (trim_) give_memory_back();
  if (taken_ || inbox_.arrived() == next_) return std::optional<LaneRequest>{};
  LaneEntry& entry = inbox_.entry(next_);
  LaneRequest request{.header = entry.header, .input = {}};
  std::byte* start = entry.header.payload_offset == inline_payload
                         ? entry.payload
                         : inbox_.slab().data() + entry.header.payload_offset;
  request.input = {start, entry.header.payload_length};
  taken_ = true;
  output_size_ = 0;
  outputs_.begin();
  return std::optional<LaneRequest>(request);
}

void UcxLaneWorker::State::give_memory_back() {
  trim_ = false;
  reclaim();
  if (outputs_.oldest() || inbox_.arrived() != next_) return;
  requests_.trim();
  responses_.trim();
}

/// What the client has released, and UCX has sent to the last byte.
void UcxLaneWorker::State::reclaim() {
  for (auto oldest = outputs_.oldest();
       oldest && *oldest < released_ && pending_[*oldest % ring_entries] == 0;
       oldest = outputs_.oldest())
    outputs_.free_oldest();
}

bool UcxLaneWorker::State::place(std::size_t size) {
  const auto attempt = [&] { return outputs_.place(size, inline_output_.data(), output_size_); };
  reclaim();
  if (attempt()) return true;
  // The news that room is free may be waiting in the socket.
  while (link_->progress()) {
  }
  reclaim();
  return attempt();
}

std::byte* UcxLaneWorker::State::output(std::size_t size) {
  if (!outputs_.placed() && size <= inline_bytes) {
    output_size_ = size;
    return inline_output_.data();
  }
  if (!place(std::max(size, inline_bytes))) return nullptr;
  output_size_ = size;
  return outputs_.data();
}

Result<void> UcxLaneWorker::State::answer(const LaneWorker::Answer& answer) {
  if (!taken_) return fail(ErrorCode::internal, "an answer without a call");
  Frame frame{.kind = FrameKind::first, .header = answer_header(next_, answer)};
  CallHeader& header = frame.header;
  if (!answer.message.empty()) {
    if (std::byte* room = output(answer.message.size()); room != nullptr)
      std::memcpy(room, answer.message.data(), answer.message.size());
    else
      output_size_ = 0;
  }
  if (has_log(answer))
    if (const auto length = append_log(answer, output_size_, outputs_,
                                       [this](std::size_t size) { return place(size); })) {
      header.flags |= flag_log;
      header.origin = *length;
    }
  header.payload_length = output_size_;
  std::span<const std::byte> bytes{inline_output_.data(), output_size_};
  if (outputs_.placed()) {
    const std::uint64_t size = transfer_size(header, responses_.bytes().size()).value_or(0);
    header.payload_offset = outputs_.offset();
    bytes = {outputs_.data(), size};
    outputs_.publish(size, next_);
  }
  std::uint32_t& pending = pending_[next_ % ring_entries];
  ++next_;
  taken_ = false;
  link_->send({.frame = frame, .payload = bytes, .pending = &pending});
  if (link_->failure()) return fail(*link_->failure());
  return {};
}

Result<void> UcxLaneWorker::State::flush() { return link_->flush(flush_patience); }

bool UcxLaneWorker::State::prepare_to_sleep() { return link_->arm() && inbox_.arrived() == next_; }

UcxLaneWorker::UcxLaneWorker(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxLaneWorker::UcxLaneWorker(UcxLaneWorker&& other) noexcept = default;
UcxLaneWorker& UcxLaneWorker::operator=(UcxLaneWorker&& other) noexcept = default;
UcxLaneWorker::~UcxLaneWorker() = default;

Result<std::optional<LaneRequest>> UcxLaneWorker::receive() { return state_->receive(); }
bool UcxLaneWorker::ready() const { return state_->ready(); }
std::byte* UcxLaneWorker::output(std::size_t size) { return state_->output(size); }
Result<void> UcxLaneWorker::answer(const Answer& answer) { return state_->answer(answer); }
Result<void> UcxLaneWorker::flush() { return state_->flush(); }
bool UcxLaneWorker::prepare_to_sleep() { return state_->prepare_to_sleep(); }
void UcxLaneWorker::finish_sleep() {}
int UcxLaneWorker::wake_descriptor() const { return state_->wake_descriptor(); }

}  // namespace orchid::transport
