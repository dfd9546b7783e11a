#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "lane_answer.h"
#include "local/lane_signal.h"
#include "transport/lane_orders.h"
#include "transport/local_lane.h"

namespace orchid::transport {
namespace {

constexpr std::uint64_t trim_above = 1ULL << 20;

Failure worker_wrote_nonsense(std::string_view what) {
  return {ErrorCode::bad_request,
          "the worker wrote nonsense into the lane (" + std::string(what) + ")"};
}

bool inside(std::uint64_t offset, std::uint64_t length, std::size_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace

Result<LocalLaneClient> LocalLaneClient::attach(LaneDescriptors descriptors) {
  auto memory = LaneMemory::map(descriptors.memory.get(), descriptors.geometry);
  if (!memory) return fail(std::move(memory.error()));
  return LocalLaneClient(std::move(descriptors), std::move(*memory));
}

LocalLaneClient::LocalLaneClient(LaneDescriptors descriptors, LaneMemory memory)
    : descriptors_(std::move(descriptors)),
      memory_(std::move(memory)),
      pieces_(memory_.request_slab()) {}

Result<std::span<std::byte>> LocalLaneClient::allocate(std::size_t size) {
  auto piece = pieces_.allocate(size);
  if (!piece) return fail(std::move(piece.error()));
  return std::span(pieces_.at(*piece), size);
}

void LocalLaneClient::abandon(std::span<const std::byte> room) {
  if (const auto piece = pieces_.find(room); piece != InputRooms::none) pieces_.free(piece);
}

Result<std::uint64_t> LocalLaneClient::send(const LaneCall& call) {
  if (next_request_ - oldest_unreleased_ >= ring_entries - 1)
    return fail(ErrorCode::no_capacity, "255 calls are in flight on this lane");
  const std::uint64_t number = next_request_;
  LaneEntry& entry = memory_.request_ring()[number % ring_entries];
  CallHeader header;
  header.request_id = number + 1;
  header.slot = call.slot;
  header.generation = call.generation;
  header.deadline_ns = static_cast<std::uint64_t>(call.deadline.count());
  header.payload_length = call.input.size();
  header.entry = call.entry;
  header.flags = call.flags;
  header.kind = static_cast<std::uint8_t>(call.kind);
  header.held_answers = static_cast<std::uint8_t>(1 + number - oldest_unreleased_);
  std::uint64_t piece = InputRooms::none;
  if (call.input.size() <= inline_bytes) {
    if (!call.input.empty()) std::memcpy(entry.payload, call.input.data(), call.input.size());
  } else {
    piece = pieces_.find(call.input);
    if (piece == InputRooms::none) {
      auto made = pieces_.allocate(call.input.size());
      if (!made) return fail(std::move(made.error()));
      piece = *made;
      std::memcpy(pieces_.at(piece), call.input.data(), call.input.size());
    }
    header.payload_offset = pieces_.offset_of(piece);
  }
  pieces_of_requests_[number % ring_entries] = piece;
  released_[number % ring_entries] = false;
  of_streams_[number % ring_entries] = call.is_of_stream();
  ++next_request_;
  publish(entry, header, number);
  wake_if_seen_sleeping(memory_.control().worker_sleeping, descriptors_.wake_worker.get());
  __builtin_prefetch(&memory_.request_ring()[next_request_ % ring_entries], 1);
  return header.request_id;
}

/// Sees to it that the worker wakes for all calls. As long as it has others to answer, of which it
/// knows, it is awake, and looks before it falls asleep.
void LocalLaneClient::settle_wake() {
  if (settled_ == next_request_) return;
  settled_ = next_request_;
  wake_if_sleeping(memory_.control().worker_sleeping, descriptors_.wake_worker.get());
}

Result<std::optional<LaneResponse>> LocalLaneClient::receive() {
  Result<std::optional<LaneResponse>> response;
  const std::uint64_t number = next_response_;
  if (number == next_request_) return response;
  const LaneEntry& entry = memory_.response_ring()[number % ring_entries];
  if (!is_published(entry, number)) {
    if (watch_.flooded) response = fail(worker_wrote_nonsense("wakes"));
    if (number >= settled_) settle_wake();
    return response;
  }
  if (const char* wrong = read_response(entry, response->emplace()))
    response = fail(worker_wrote_nonsense(wrong));
  else
    ++next_response_;
  return response;
}

/// Returns what is wrong with it, or null.
const char* LocalLaneClient::read_response(const LaneEntry& entry, LaneResponse& response) const {
  CallHeader header;
  std::memcpy(static_cast<void*>(&header), &entry.header, sizeof(header));
  if (header.request_id != next_response_ + 1) return "an answer to another call";
  const bool of_stream = of_streams_[next_response_ % ring_entries];
  if (const char* wrong = read_answer_header(header, of_stream, response)) return wrong;
  response.ticket = next_response_;
  const std::span<std::byte> slab = memory_.response_slab();
  if (header.payload_offset == inline_payload) {
    if (header.payload_length > inline_bytes) return "length";
    response.payload = {entry.payload, header.payload_length};
  } else {
    if (!inside(header.payload_offset, header.payload_length, slab.size())) return "payload";
    response.payload = slab.subspan(header.payload_offset, header.payload_length);
  }
  if ((header.flags & flag_log) != 0) {
    if (header.payload_offset == inline_payload || header.origin > limits::log_size.value ||
        !inside(header.payload_offset, bytes_with_log(header), slab.size()))
      return "log";
    read_log(header, response.payload.data() + align_to_line(header.payload_length), response);
  }
  return nullptr;
}

void LocalLaneClient::release(const LaneResponse& response) {
  const std::uint64_t number = response.ticket;
  const auto mark = static_cast<std::uint8_t>(number / ring_entries + 1);
  memory_.released()[number % ring_entries].store(mark, lane_orders.release_answer);
  if (const auto piece = pieces_of_requests_[number % ring_entries]; piece != InputRooms::none)
    pieces_.free(piece);
  released_[number % ring_entries] = true;
  while (oldest_unreleased_ != next_response_ && released_[oldest_unreleased_ % ring_entries])
    ++oldest_unreleased_;
}

bool LocalLaneClient::prepare_to_sleep() {
  settle_wake();
  announce_sleep(memory_.control().client_sleeping);
  if (in_flight() == 0 ||
      !is_published(memory_.response_ring()[next_response_ % ring_entries], next_response_))
    return true;
  finish_sleep();
  return false;
}

void LocalLaneClient::finish_sleep() {
  end_sleep(memory_.control().client_sleeping, descriptors_.wake_client.get(), watch_);
}

void LocalLaneClient::use_wake_descriptors(int wake_worker, int wake_client) {
  descriptors_.wake_worker.reset(wake_worker);
  descriptors_.wake_client.reset(wake_client);
  descriptors_.memory.reset();  // mapped
}

void LocalLaneClient::restart() {
  watch_ = {};
  settled_ = next_request_ = next_response_ = oldest_unreleased_ = 0;
  released_ = {};
  of_streams_ = {};
  pieces_of_requests_ = {};
  pieces_ = InputRooms(memory_.request_slab());
}

RunningLog LocalLaneClient::running_log(std::uint64_t request_id) const {
  const LogHead& head = memory_.log_head();
  if (head.request_id.load(std::memory_order_acquire) != request_id) return {};
  const std::uint64_t written = head.length.load(std::memory_order_acquire);
  const auto kept = std::min<std::uint64_t>(written, limits::log_size.value);
  return {.text = {memory_.log_text(), kept}, .dropped = written - kept};
}

std::optional<double> LocalLaneClient::running_progress(std::uint64_t request_id) const {
  const auto thousandths =
      progress_of(request_id, memory_.control().progress.value.load(std::memory_order_relaxed));
  if (!thousandths) return std::nullopt;
  return static_cast<double>(*thousandths) / whole_progress;
}

void LocalLaneClient::trim() {
  if (next_request_ != oldest_unreleased_ || !pieces_.empty()) return;
  for (const std::span<std::byte> slab : {memory_.request_slab(), memory_.response_slab()})
    if (slab.size() > trim_above)
      ::madvise(slab.data() + trim_above, slab.size() - trim_above, MADV_REMOVE);
}

}  // namespace orchid::transport
