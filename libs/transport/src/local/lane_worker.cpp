#include <algorithm>
#include <cstring>

#include "lane_answer.h"
#include "local/lane_signal.h"
#include "transport/lane_orders.h"
#include "transport/local_lane.h"

namespace orchid::transport {
namespace {

/// Released answers are looked for once this much of the slab is in use, not at each call: each
/// look takes a cache line from the client.
constexpr std::uint64_t reclaim_above = 256 * 1024;
/// Entries are fetched so long before an answer is written to them.
constexpr std::uint64_t answers_ahead = 4;
/// A client with several calls in flight that falls asleep at the very moment of an answer may be
/// left asleep for one more call, if that is expected to be as short as the last one.
constexpr std::chrono::microseconds short_run{20};

Failure client_wrote_nonsense(std::string_view what) {
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

bool LocalLaneWorker::another_waits() const {
  return taken_ && is_published(memory_.request_ring()[(next_ + 1) % ring_entries], next_ + 1);
}

/// Returns what is wrong with it, or null.
const char* LocalLaneWorker::read_request(LaneEntry& entry, LaneRequest& request) const {
  std::memcpy(static_cast<void*>(&request.header), &entry.header, sizeof(CallHeader));
  const CallHeader& header = request.header;
  if (header.request_id != next_ + 1) return "request id";
  if (header.version != call_header_version) return "version";
  if (const char* wrong = check_request(header)) return wrong;
  if (header.payload_offset == inline_payload) {
    if (header.payload_length > inline_bytes) return "length";
    request.input = {entry.payload, header.payload_length};
    return nullptr;
  }
  const auto slab = memory_.request_slab();
  if (header.payload_offset > slab.size() ||
      header.payload_length > slab.size() - header.payload_offset)
    return "payload";
  request.input = slab.subspan(header.payload_offset, header.payload_length);
  return nullptr;
}

Result<std::optional<LaneRequest>> LocalLaneWorker::receive() {
  Result<std::optional<LaneRequest>> request;
  LaneEntry& entry = memory_.request_ring()[next_ % ring_entries];
  if (taken_ || !is_published(entry, next_)) {
    if (watch_.flooded)
      request = fail(ErrorCode::bad_request,
                     "somebody, the function perhaps, wrote to the eventfd that wakes the worker");
    return request;
  }
  // The client has them; they are to be here when there is something to write.
  __builtin_prefetch(&memory_.response_ring()[(next_ + answers_ahead) % ring_entries], 1);
  // And what follows is under way while this call runs.
  __builtin_prefetch(&memory_.request_ring()[(next_ + 1) % ring_entries]);
  if (const char* wrong = read_request(entry, request->emplace())) {
    request = fail(client_wrote_nonsense(wrong));
    return request;
  }
  taken_ = true;
  output_size_ = 0;
  free_told(request->value().header.held_answers);
  outputs_.begin();
  return request;
}

/// What the client says with a call: then outputs for one that waits for each answer stay in one
/// place, in the caches of both. Marks would have to be fetched.
void LocalLaneWorker::free_told(std::uint8_t held_answers) {
  if (held_answers == 0 || held_answers > next_ + 1) return;  // it says nothing
  const std::uint64_t held = next_ + 1 - held_answers;
  while (outputs_.oldest().value_or(held) < held) outputs_.free_oldest();
}

void LocalLaneWorker::reclaim() {
  for (auto oldest = outputs_.oldest(); oldest; oldest = outputs_.oldest()) {
    const auto mark = static_cast<std::uint8_t>(*oldest / ring_entries + 1);
    // A client that has sent call `next_` holds none of the answers before the last 255; their
    // marks may have been overwritten by those of later, inline answers.
    const bool long_ago = next_ - *oldest >= ring_entries - 1;
    if (!long_ago &&
        memory_.released()[*oldest % ring_entries].load(lane_orders.see_released) != mark)
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
  if (has_log(answer))
    if (const auto length = append_log(answer, output_size_, outputs_,
                                       [this](std::size_t size) { return place(size); })) {
      header.flags |= flag_log;
      header.origin = *length;
    }
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
  ControlLine& client = memory_.control().client_sleeping;
  if (answer.kind == ResponseKind::reply && answer.run_time < short_run && ready())
    wake_if_seen_sleeping(client, descriptors_.wake_client.get());
  else
    wake_if_sleeping(client, descriptors_.wake_client.get());
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
  end_sleep(memory_.control().worker_sleeping, descriptors_.wake_worker.get(), watch_);
}

}  // namespace orchid::transport
