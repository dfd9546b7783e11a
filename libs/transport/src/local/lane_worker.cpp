#include <algorithm>
#include <cstring>

#include "lane_answer.h"
#include "local/lane_signal.h"
#include "transport/local_lane.h"

namespace orchid::transport {
namespace {

/// Released answers are looked for once this much of the slab is in use, not at each call: each
/// look takes a cache line from the client.
constexpr std::uint64_t reclaim_above = 64 * 1024;

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
    : descriptors_(std::move(descriptors)),
      memory_(std::move(memory)),
      outputs_(memory_.response_slab()) {}

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
  if (const char* wrong = check_request(header)) return fail(nonsense(wrong));
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
  outputs_.begin();
  return std::optional<LaneRequest>(request);
}

void LocalLaneWorker::reclaim() {
  for (auto oldest = outputs_.oldest(); oldest; oldest = outputs_.oldest()) {
    const auto mark = static_cast<std::uint8_t>(*oldest / ring_entries + 1);
    // A client that has sent call `next_` holds none of the answers before the last 255; their
    // marks may have been overwritten by those of later, inline answers.
    const bool long_ago = next_ - *oldest >= ring_entries - 1;
    if (!long_ago &&
        memory_.released()[*oldest % ring_entries].load(std::memory_order_acquire) != mark)
      break;
    outputs_.free_oldest();
  }
}

/// Finds a place for the output and moves there what was written so far.
bool LocalLaneWorker::place(std::size_t size) {
  const auto attempt = [&] { return outputs_.place(size, inline_output_.data(), output_size_); };
  if (outputs_.is_full() || (!outputs_.placed() && outputs_.used() + size > reclaim_above))
    reclaim();
  if (attempt()) return true;
  reclaim();
  return attempt();
}

std::byte* LocalLaneWorker::output(std::size_t size) {
  if (!outputs_.placed() && size <= inline_bytes) {
    output_size_ = size;
    return inline_output_.data();
  }
  if (!place(std::max(size, inline_bytes))) return nullptr;
  output_size_ = size;
  return outputs_.data();
}

Result<void> LocalLaneWorker::answer(const Answer& answer) {
  if (!taken_) return fail(ErrorCode::internal, "an answer without a call");
  CallHeader header = answer_header(next_, answer);
  if (!answer.message.empty()) {
    if (std::byte* room = output(answer.message.size()); room != nullptr)
      std::memcpy(room, answer.message.data(), answer.message.size());
    else
      output_size_ = 0;
  }
  if (!answer.log.empty() || answer.log_dropped != 0)
    append_log(answer, output_size_, outputs_, header,
               [this](std::size_t size) { return place(size); });
  header.payload_length = output_size_;
  LaneEntry& entry = memory_.response_ring()[next_ % ring_entries];
  if (outputs_.placed()) {
    header.payload_offset = outputs_.offset();
    outputs_.publish(bytes_with_log(header), next_);
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
