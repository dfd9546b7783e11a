#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "local/lane_signal.h"
#include "transport/local_lane.h"

namespace orchid::transport {
namespace {

constexpr std::uint64_t no_extent = ~std::uint64_t{0};
constexpr std::size_t alignment = 64;
constexpr std::uint64_t trim_above = 1ULL << 20;

std::uint64_t align_up(std::uint64_t value) {
  return (value + alignment - 1) / alignment * alignment;
}

Failure nonsense(std::string_view what) {
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
    : descriptors_(std::move(descriptors)), memory_(std::move(memory)) {}

std::span<std::byte> LocalLaneClient::slab_at(std::uint64_t position, std::size_t size) const {
  const auto slab = memory_.request_slab();
  return slab.subspan(position % slab.size(), size);
}

Result<std::span<std::byte>> LocalLaneClient::allocate(std::size_t size) {
  const std::uint64_t capacity = memory_.request_slab().size();
  const std::uint64_t length = align_up(std::max<std::uint64_t>(size, 1));
  if (size > capacity)
    return fail(ErrorCode::too_large,
                "an input of " + to_string(ByteCount{size}) + " does not fit into the lane");
  if (first_extent_ == next_extent_) slab_head_ = 0;  // empty: stay on the pages that are warm
  const std::uint64_t tail =
      first_extent_ == next_extent_ ? 0 : extents_[first_extent_ % extent_limit].position;
  std::uint64_t position = slab_head_;
  if (position % capacity + length > capacity)
    position = (position / capacity + 1) * capacity;  // no piece wraps around
  if (next_extent_ - first_extent_ == extent_limit || position + length - tail > capacity)
    return fail(ErrorCode::no_capacity, "the lane's request slab is full");
  extents_[next_extent_++ % extent_limit] = {position, position + length, false};
  slab_head_ = position + length;
  high_water_ = std::max(high_water_, slab_head_ > capacity ? capacity : slab_head_);
  return slab_at(position, size);
}

LocalLaneClient::Extent* LocalLaneClient::extent_of(std::span<const std::byte> room) {
  const auto slab = memory_.request_slab();
  if (room.data() < slab.data() || room.data() >= slab.data() + slab.size()) return nullptr;
  const auto offset = static_cast<std::uint64_t>(room.data() - slab.data());
  for (std::uint64_t i = next_extent_; i-- > first_extent_;) {
    Extent& extent = extents_[i % extent_limit];
    if (!extent.free && extent.position % slab.size() == offset) return &extent;
  }
  return nullptr;
}

void LocalLaneClient::free_extent(std::uint64_t index) {
  extents_[index % extent_limit].free = true;
  while (first_extent_ != next_extent_ && extents_[first_extent_ % extent_limit].free)
    ++first_extent_;
}

void LocalLaneClient::abandon(std::span<const std::byte> room) {
  Extent* extent = extent_of(room);
  if (extent == nullptr) return;
  extent->free = true;
  while (first_extent_ != next_extent_ && extents_[first_extent_ % extent_limit].free)
    ++first_extent_;
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
  header.kind = static_cast<std::uint8_t>(RequestKind::call);
  std::uint64_t& extent = request_extent_[number % ring_entries];
  extent = no_extent;
  if (call.input.size() <= inline_bytes) {
    if (!call.input.empty()) std::memcpy(entry.payload, call.input.data(), call.input.size());
  } else if (Extent* in_place = extent_of(call.input); in_place != nullptr) {
    header.payload_offset = in_place->position % memory_.request_slab().size();
    const auto slot_in_ring = static_cast<std::uint64_t>(in_place - extents_.data());
    extent =
        first_extent_ + (slot_in_ring + extent_limit - first_extent_ % extent_limit) % extent_limit;
  } else {
    auto room = allocate(call.input.size());
    if (!room) return fail(std::move(room.error()));
    std::memcpy(room->data(), call.input.data(), call.input.size());
    extent = next_extent_ - 1;
    header.payload_offset =
        static_cast<std::uint64_t>(room->data() - memory_.request_slab().data());
  }
  released_[number % ring_entries] = false;
  ++next_request_;
  publish(entry, header, number);
  wake_if_sleeping(memory_.control().worker_sleeping, descriptors_.wake_worker.get());
  return header.request_id;
}

Result<std::optional<LaneResponse>> LocalLaneClient::receive() {
  const std::uint64_t number = next_response_;
  if (number == next_request_) return std::optional<LaneResponse>{};
  const LaneEntry& entry = memory_.response_ring()[number % ring_entries];
  if (!is_published(entry, number)) return std::optional<LaneResponse>{};
  CallHeader header;
  std::memcpy(static_cast<void*>(&header), &entry.header, sizeof(header));
  auto response = read_response(header, entry);
  if (!response) return fail(std::move(response.error()));
  ++next_response_;
  return std::optional<LaneResponse>(*response);
}

Result<LaneResponse> LocalLaneClient::read_response(const CallHeader& header,
                                                    const LaneEntry& entry) const {
  if (header.request_id != next_response_ + 1) return fail(nonsense("an answer to another call"));
  if (header.version != call_header_version || header.status >= outcome_count)
    return fail(nonsense("version or status"));
  if (header.kind != static_cast<std::uint8_t>(ResponseKind::reply) &&
      header.kind != static_cast<std::uint8_t>(ResponseKind::need_code))
    return fail(nonsense("kind"));
  LaneResponse response;
  response.request_id = header.request_id;
  response.kind = static_cast<ResponseKind>(header.kind);
  response.outcome = static_cast<Outcome>(header.status);
  response.payload_is_message = (header.flags & flag_message) != 0;
  response.run_time = std::chrono::nanoseconds(header.deadline_ns);
  response.ticket = next_response_;
  const std::span<std::byte> slab = memory_.response_slab();
  if (header.payload_offset == inline_payload) {
    if (header.payload_length > inline_bytes) return fail(nonsense("length"));
    response.payload = {entry.payload, header.payload_length};
  } else {
    if (!inside(header.payload_offset, header.payload_length, slab.size()))
      return fail(nonsense("payload"));
    response.payload = slab.subspan(header.payload_offset, header.payload_length);
  }
  if ((header.flags & flag_log) != 0) {
    // The log starts at the next multiple of 64 after the payload: dropped bytes (u64), then the
    // text.
    const std::uint64_t start = header.payload_offset == inline_payload
                                    ? ~std::uint64_t{0}
                                    : align_up(header.payload_offset + header.payload_length);
    const std::uint64_t length = header.origin;
    if (length > limits::log_size.value ||
        !inside(start, sizeof(std::uint64_t) + length, slab.size()))
      return fail(nonsense("log"));
    std::memcpy(&response.log_dropped, slab.data() + start, sizeof(std::uint64_t));
    response.log = {reinterpret_cast<const char*>(slab.data() + start + sizeof(std::uint64_t)),
                    length};
  }
  return response;
}

void LocalLaneClient::release(const LaneResponse& response) {
  const std::uint64_t number = response.ticket;
  const auto mark = static_cast<std::uint8_t>(number / ring_entries + 1);
  memory_.released()[number % ring_entries].store(mark, std::memory_order_release);
  if (const std::uint64_t extent = request_extent_[number % ring_entries]; extent != no_extent)
    free_extent(extent);
  released_[number % ring_entries] = true;
  while (oldest_unreleased_ != next_response_ && released_[oldest_unreleased_ % ring_entries])
    ++oldest_unreleased_;
}

bool LocalLaneClient::prepare_to_sleep() {
  announce_sleep(memory_.control().client_sleeping);
  if (in_flight() == 0 ||
      !is_published(memory_.response_ring()[next_response_ % ring_entries], next_response_))
    return true;
  finish_sleep();
  return false;
}

void LocalLaneClient::finish_sleep() {
  end_sleep(memory_.control().client_sleeping, descriptors_.wake_client.get());
}

RunningLog LocalLaneClient::running_log(std::uint64_t request_id) const {
  const LogHead& head = memory_.log_head();
  if (head.request_id.load(std::memory_order_acquire) != request_id) return {};
  const std::uint64_t written = head.length.load(std::memory_order_acquire);
  const auto kept = std::min<std::uint64_t>(written, limits::log_size.value);
  return {.text = {memory_.log_text(), kept}, .dropped = written - kept};
}

void LocalLaneClient::trim() {
  if (next_request_ != oldest_unreleased_ || first_extent_ != next_extent_) return;
  const auto give_back = [](std::span<std::byte> slab) {
    ::madvise(slab.data() + trim_above, slab.size() - trim_above, MADV_REMOVE);
  };
  if (memory_.request_slab().size() > trim_above && high_water_ > trim_above)
    give_back(memory_.request_slab());
  if (memory_.response_slab().size() > trim_above) give_back(memory_.response_slab());
  high_water_ = 0;
}

}  // namespace orchid::transport
