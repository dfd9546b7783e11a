#include <algorithm>
#include <cstring>

#include "local/lane_signal.h"
#include "transport/local_lane.h"

namespace orchid::transport {
namespace {

constexpr std::size_t alignment = 64;
/// Released answers are looked for once this much of the slab is in use, not at each call: each
/// look takes a cache line from the client.
constexpr std::uint64_t reclaim_above = 64 * 1024;

std::uint64_t align_up(std::uint64_t value) {
  return (value + alignment - 1) / alignment * alignment;
}

Failure nonsense(std::string_view what) {
  return {ErrorCode::bad_request,
          "the client wrote nonsense into the lane (" + std::string(what) + ")"};
}

}  // namespace

Result<LocalLaneWorker> LocalLaneWorker::attach(LaneDescriptors descriptors) {
  auto memory = LaneMemory::map(descriptors.memory.get(), descriptors.geometry);
  if (!memory) return fail(std::move(memory.error()));
  return LocalLaneWorker(std::move(descriptors), std::move(*memory));
}

LocalLaneWorker::LocalLaneWorker(LaneDescriptors descriptors, LaneMemory memory)
    : descriptors_(std::move(descriptors)), memory_(std::move(memory)) {}

bool LocalLaneWorker::ready() const {
  return is_published(memory_.request_ring()[next_ % ring_entries], next_);
}

Result<std::optional<LaneRequest>> LocalLaneWorker::receive() {
  LaneEntry& entry = memory_.request_ring()[next_ % ring_entries];
  if (taken_ || !is_published(entry, next_)) return std::optional<LaneRequest>{};
  LaneRequest request;
  std::memcpy(static_cast<void*>(&request.header), &entry.header, sizeof(CallHeader));
  const CallHeader& header = request.header;
  if (header.request_id != next_ + 1) return fail(nonsense("request id"));
  if (header.version != call_header_version) return fail(nonsense("version"));
  if (header.payload_offset == inline_payload) {
    if (header.payload_length > inline_bytes) return fail(nonsense("length"));
    request.input = {entry.payload, header.payload_length};
  } else {
    const auto slab = memory_.request_slab();
    if (header.payload_offset > slab.size() ||
        header.payload_length > slab.size() - header.payload_offset)
      return fail(nonsense("payload"));
    request.input = slab.subspan(header.payload_offset, header.payload_length);
  }
  taken_ = true;
  output_size_ = 0;
  output_in_slab_ = false;
  return std::optional<LaneRequest>(request);
}

void LocalLaneWorker::reclaim() {
  while (first_extent_ != next_extent_) {
    const Extent& oldest = extents_[first_extent_ % ring_entries];
    const auto mark = static_cast<std::uint8_t>(oldest.response / ring_entries + 1);
    // A client that has sent call `next_` holds none of the answers before the last 255; their
    // marks may have been overwritten by those of later, inline answers.
    const bool long_ago = next_ - oldest.response >= ring_entries - 1;
    if (!long_ago &&
        memory_.released()[oldest.response % ring_entries].load(std::memory_order_acquire) != mark)
      break;
    slab_tail_ = oldest.end;
    ++first_extent_;
  }
  if (first_extent_ == next_extent_ && !output_in_slab_)
    slab_head_ = slab_tail_ = 0;  // stay on the pages that are warm
}

std::byte* LocalLaneWorker::slab_at(std::uint64_t position) const {
  const auto slab = memory_.response_slab();
  return slab.data() + position % slab.size();
}

bool LocalLaneWorker::fits(std::uint64_t position, std::size_t size) const {
  const std::uint64_t capacity = memory_.response_slab().size();
  return position % capacity + size <= capacity && position + size - slab_tail_ <= capacity;
}

/// Where an output of `size` bytes can lie: where it is, at the head, or at the start of the slab;
/// nothing if it is full.
std::optional<std::uint64_t> LocalLaneWorker::find_position(std::size_t size) const {
  const std::uint64_t capacity = memory_.response_slab().size();
  const std::uint64_t position = output_in_slab_ ? output_position_ : slab_head_;
  if (fits(position, size)) return position;
  const std::uint64_t wrapped = (position / capacity + 1) * capacity;
  if (fits(wrapped, size)) return wrapped;
  return std::nullopt;
}

/// Finds a place for the output and moves there what was written so far. It belongs to the answer
/// once that is published.
bool LocalLaneWorker::place(std::size_t size) {
  const std::byte* old = output_in_slab_ ? slab_at(output_position_) : inline_output_.data();
  const bool full = next_extent_ - first_extent_ == ring_entries;
  if (full || (!output_in_slab_ && slab_head_ - slab_tail_ + size > reclaim_above)) reclaim();
  if (next_extent_ - first_extent_ == ring_entries) return false;
  auto position = find_position(size);
  if (!position) {
    reclaim();
    position = find_position(size);
  }
  if (!position && first_extent_ == next_extent_ && size <= memory_.response_slab().size()) {
    slab_tail_ = 0;  // nothing but this output is in the slab
    position = 0;
  }
  if (!position) return false;
  if (std::byte* fresh = slab_at(*position); fresh != old && output_size_ != 0)
    std::memmove(fresh, old, std::min(output_size_, size));
  output_position_ = *position;
  output_in_slab_ = true;
  return true;
}

std::byte* LocalLaneWorker::output(std::size_t size) {
  if (!output_in_slab_ && size <= inline_bytes) {
    output_size_ = size;
    return inline_output_.data();
  }
  if (!place(std::max(size, inline_bytes))) return nullptr;
  output_size_ = size;
  return slab_at(output_position_);
}

/// The log goes behind the payload, which must lie in the slab then. A log that does not fit is
/// counted as dropped.
Result<void> LocalLaneWorker::append_log(const Answer& answer, CallHeader& header) {
  const std::size_t payload = output_size_;
  const std::uint64_t start = align_up(payload);
  std::string_view text = answer.log.substr(0, limits::log_size.value);
  std::uint64_t dropped = answer.log_dropped + (answer.log.size() - text.size());
  if (!place(start + sizeof(dropped) + text.size())) {
    dropped += text.size();
    text = {};
    if (!place(start + sizeof(dropped))) return {};
  }
  output_size_ = payload;
  std::byte* base = slab_at(output_position_);
  std::memcpy(base + start, &dropped, sizeof(dropped));
  std::memcpy(base + start + sizeof(dropped), text.data(), text.size());
  header.flags |= flag_log;
  header.origin = text.size();
  return {};
}

Result<void> LocalLaneWorker::answer(const Answer& answer) {
  if (!taken_) return fail(ErrorCode::internal, "an answer without a call");
  CallHeader header;
  header.request_id = next_ + 1;
  header.deadline_ns = static_cast<std::uint64_t>(answer.run_time.count());
  header.kind = static_cast<std::uint8_t>(answer.kind);
  header.status = static_cast<std::uint8_t>(answer.outcome);
  if (!answer.message.empty()) {
    header.flags |= flag_message;
    if (std::byte* room = output(answer.message.size()); room != nullptr)
      std::memcpy(room, answer.message.data(), answer.message.size());
    else
      output_size_ = 0;
  }
  if (!answer.log.empty() || answer.log_dropped != 0)
    if (auto appended = append_log(answer, header); !appended) return appended;
  header.payload_length = output_size_;
  LaneEntry& entry = memory_.response_ring()[next_ % ring_entries];
  if (output_in_slab_) {
    header.payload_offset = output_position_ % memory_.response_slab().size();
    const std::uint64_t log_end =
        (header.flags & flag_log) != 0
            ? align_up(output_size_) + sizeof(std::uint64_t) + header.origin
            : 0;
    slab_head_ = output_position_ + align_up(std::max<std::uint64_t>({output_size_, log_end, 1}));
    extents_[next_extent_++ % ring_entries] = {slab_head_, next_};
  } else if (output_size_ != 0) {
    std::memcpy(entry.payload, inline_output_.data(), output_size_);
  }
  publish(entry, header, next_);
  ++next_;
  taken_ = false;
  wake_if_sleeping(memory_.control().client_sleeping, descriptors_.wake_client.get());
  return {};
}

void LocalLaneWorker::use_wake_descriptors(int wake_worker, int wake_client) {
  descriptors_.wake_worker.reset(wake_worker);
  descriptors_.wake_client.reset(wake_client);
  descriptors_.memory.reset();  // mapped
}

bool LocalLaneWorker::prepare_to_sleep() {
  announce_sleep(memory_.control().worker_sleeping);
  if (!ready()) return true;
  finish_sleep();
  return false;
}

void LocalLaneWorker::finish_sleep() {
  end_sleep(memory_.control().worker_sleeping, descriptors_.wake_worker.get());
}

}  // namespace orchid::transport
