#include <cstring>
#include <utility>

#include "lane_answer.h"
#include "ucx/ends.h"

namespace orchid::transport {
namespace {

/// Releases are told by a message of their own once the answers that the worker still keeps take
/// this part of its room, or half of the calls that may be in flight.
constexpr std::uint64_t told_part = 16;
constexpr std::uint64_t told_count = 128;

Failure worker_sent_nonsense(std::string_view what) {
  return {ErrorCode::bad_request,
          "the worker sent nonsense over the lane (" + std::string(what) + ")"};
}

}  // namespace

UcxLaneClient::State::State(Slab requests, Slab responses, std::unique_ptr<UcxLink> link)
    : requests_(std::move(requests)),
      responses_(std::move(responses)),
      link_(std::move(link)),
      pieces_(requests_.bytes()),
      inbox_(responses_.bytes()) {
  link_->set_sink(this);
}

const char* UcxLaneClient::State::on_frame(const Frame& frame,
                                           std::span<const std::byte> payload) noexcept {
  if (frame.kind != FrameKind::first && frame.kind != FrameKind::more) return "kind of frame";
  if (inbox_.arrived() >= next_request_) return "an answer without a call";
  return inbox_.take(frame, payload, oldest_unreleased_);
}

Result<std::span<std::byte>> UcxLaneClient::State::allocate(std::size_t size) {
  auto piece = pieces_.allocate(size);
  if (!piece) return fail(std::move(piece.error()));
  return std::span(pieces_.at(*piece), size);
}

void UcxLaneClient::State::abandon(std::span<const std::byte> room) {
  if (const auto piece = pieces_.find(room); piece != InputRooms::none) pieces_.free(piece);
}

Result<std::uint64_t> UcxLaneClient::State::send(const LaneCall& call) {
  if (link_->failure()) return fail(*link_->failure());
  if (next_request_ - oldest_unreleased_ >= ring_entries - 1)
    return fail(ErrorCode::no_capacity, "255 calls are in flight on this lane");
  const std::uint64_t number = next_request_;
  Frame frame{.kind = FrameKind::first};
  frame.released = told_ = oldest_unreleased_;
  told_bytes_ = 0;
  frame.header.request_id = number + 1;
  frame.header.slot = call.slot;
  frame.header.generation = call.generation;
  frame.header.deadline_ns = static_cast<std::uint64_t>(call.deadline.count());
  frame.header.payload_length = call.input.size();
  frame.header.entry = call.entry;
  frame.header.flags = call.flags;
  frame.header.kind = static_cast<std::uint8_t>(call.kind);
  std::span<const std::byte> bytes = call.input;
  std::uint64_t piece = InputRooms::none;
  if (call.input.size() > inline_bytes) {
    piece = pieces_.find(call.input);
    if (piece == InputRooms::none) {
      auto made = pieces_.allocate(call.input.size());
      if (!made) return fail(std::move(made.error()));
      piece = *made;
      if (!link_->sends_at_once(bytes.size())) {
        std::memcpy(pieces_.at(piece), bytes.data(), bytes.size());
        bytes = {pieces_.at(piece), bytes.size()};
      }
    }
    frame.header.payload_offset = pieces_.offset_of(piece);
  }
  Call& kept = calls_[number % ring_entries];
  kept = {.piece = piece, .of_stream = call.is_of_stream()};
  ++next_request_;
  link_->send({.frame = frame, .payload = bytes, .pending = &kept.pending});
  return number + 1;
}

Result<std::optional<LaneResponse>> UcxLaneClient::State::receive() {
  const std::uint64_t number = next_response_;
  if (inbox_.arrived() == number) link_->progress();
  if (inbox_.arrived() == number || calls_[number % ring_entries].pending != 0) {
    if (link_->failure()) return fail(*link_->failure());
    return std::optional<LaneResponse>{};
  }
  auto response = read_response(inbox_.entry(number));
  if (!response) return fail(std::move(response.error()));
  ++next_response_;
  return std::optional<LaneResponse>(*response);
}

Result<LaneResponse> UcxLaneClient::State::read_response(const LaneEntry& entry) const {
  const CallHeader& header = entry.header;
  LaneResponse response;
  const bool of_stream = calls_[next_response_ % ring_entries].of_stream;
  if (const char* wrong = read_answer_header(header, of_stream, response))
    return fail(worker_sent_nonsense(wrong));
  response.ticket = next_response_;
  const bool is_inline = header.payload_offset == inline_payload;
  const std::byte* start = is_inline ? entry.payload : inbox_.slab().data() + header.payload_offset;
  response.payload = {start, header.payload_length};
  if ((header.flags & flag_log) != 0) {
    if (is_inline) return fail(worker_sent_nonsense("log"));
    read_log(header, start + align_to_line(header.payload_length), response);
  }
  return response;
}

void UcxLaneClient::State::release(const LaneResponse& response) {
  const std::uint64_t number = response.ticket;
  Call& call = calls_[number % ring_entries];
  if (call.piece != InputRooms::none) pieces_.free(call.piece);
  call.piece = InputRooms::none;
  call.released = true;
  told_bytes_ += response.payload.size() + response.log.size();
  while (oldest_unreleased_ != next_response_ && calls_[oldest_unreleased_ % ring_entries].released)
    ++oldest_unreleased_;
  if (in_flight() == 0 || told_ == oldest_unreleased_) return;  // the next call tells it
  if (told_bytes_ < responses_.bytes().size() / told_part &&
      oldest_unreleased_ - told_ < told_count)
    return;
  told_ = oldest_unreleased_;
  told_bytes_ = 0;
  link_->send({.frame = {.kind = FrameKind::released, .released = told_}});
}

bool UcxLaneClient::State::prepare_to_sleep() {
  return link_->arm() && inbox_.arrived() == next_response_;
}

/// The worker's half of the memory is trimmed by the frame.
void UcxLaneClient::State::trim() {
  if (next_request_ != oldest_unreleased_ || !pieces_.empty()) return;
  requests_.trim();
  responses_.trim();
  told_ = oldest_unreleased_;
  told_bytes_ = 0;
  link_->send({.frame = {.kind = FrameKind::trim, .released = told_}});
}

UcxLaneClient::UcxLaneClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxLaneClient::UcxLaneClient(UcxLaneClient&& other) noexcept = default;
UcxLaneClient& UcxLaneClient::operator=(UcxLaneClient&& other) noexcept = default;
UcxLaneClient::~UcxLaneClient() = default;

Result<std::span<std::byte>> UcxLaneClient::allocate(std::size_t size) {
  return state_->allocate(size);
}
void UcxLaneClient::abandon(std::span<const std::byte> room) { state_->abandon(room); }
Result<std::uint64_t> UcxLaneClient::send(const LaneCall& call) { return state_->send(call); }
Result<std::optional<LaneResponse>> UcxLaneClient::receive() { return state_->receive(); }
void UcxLaneClient::release(const LaneResponse& response) { state_->release(response); }
std::size_t UcxLaneClient::in_flight() const { return state_->in_flight(); }
bool UcxLaneClient::prepare_to_sleep() { return state_->prepare_to_sleep(); }
void UcxLaneClient::finish_sleep() {}
int UcxLaneClient::wake_descriptor() const { return state_->wake_descriptor(); }
bool UcxLaneClient::is_at_end() const { return state_->is_at_end(); }
void UcxLaneClient::trim() { state_->trim(); }

}  // namespace orchid::transport
