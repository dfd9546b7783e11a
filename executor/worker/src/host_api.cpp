// The functions of orchid/function.h, as the worker offers them to user code, but for those about
// other entries and modules: host_api_entries.cpp.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "call_memory.h"
#include "call_objects.h"
#include "call_stream.h"
#include "inline_calls.h"
#include "orchid/function.h"
#include "user_code/call_context.h"

void orchid_call::set_message(std::string_view text) {
  message_size = std::min(text.size(), message->size());
  std::memcpy(message->data(), text.data(), message_size);
}

namespace {

/// A caller that has not read its last answers for so long keeps them.
constexpr std::chrono::seconds patience_for_room{1};

/// What an entry can do something about has a status of its own.
std::int32_t status_of(orchid::ErrorCode code) {
  switch (code) {
    case orchid::ErrorCode::not_found:
      return ORCHID_DATA_NOT_FOUND;
    case orchid::ErrorCode::data_lost:
      return ORCHID_DATA_LOST;
    case orchid::ErrorCode::data_elsewhere:
      return ORCHID_DATA_ELSEWHERE;
    case orchid::ErrorCode::no_data_memory:
    case orchid::ErrorCode::quota:
      return ORCHID_DATA_NO_MEMORY;
    default:
      return ORCHID_ERROR;
  }
}

std::int32_t refuse(orchid_call* call, const orchid::Failure& why) {
  call->set_message(std::string(orchid::to_string(why.code)) + ": " + why.message);
  return status_of(why.code);
}

std::int32_t memory_status_of(orchid::ErrorCode code) {
  switch (code) {
    case orchid::ErrorCode::not_found:
    case orchid::ErrorCode::lease_ended:
      return ORCHID_MEMORY_ENDED;
    case orchid::ErrorCode::conflict:
      return ORCHID_MEMORY_BUSY;
    case orchid::ErrorCode::unreachable:
      return ORCHID_MEMORY_LOST;
    default:
      return ORCHID_ERROR;
  }
}

std::int32_t refuse(orchid_call* call, const orchid::executor::CallMemory::Refusal& refusal) {
  const orchid::Failure& why = refusal.why;
  if (refusal.may_have_happened) {
    call->set_message("outcome_unknown: an atomic operation may have happened, or not: " +
                      why.message);
    return ORCHID_MEMORY_UNKNOWN;
  }
  call->set_message(std::string(orchid::to_string(why.code)) + ": " + why.message);
  return memory_status_of(why.code);
}

/// Of an operation on leased memory.
template <typename T>
std::int32_t tell(orchid_call* call, const orchid::executor::CallMemory::Answer<T>& answer) {
  return answer ? ORCHID_OK : refuse(call, answer.error());
}

std::int32_t tell(orchid_call* call,
                  const orchid::executor::CallMemory::Answer<std::uint64_t>& answer,
                  std::uint64_t* number) {
  *number = answer.value_or(0);
  return tell(call, answer);
}

/// Of a name that a function gives. What is longer than any name is cut to what is refused.
std::string_view name_of(const char* name) {
  return name == nullptr
             ? std::string_view()
             : std::string_view(name, ::strnlen(name, orchid::longest_service_name + 1));
}

/// Answers that the caller has not given back yet may lie in the way. Null: they still do, or it is
/// more than a call may answer.
std::byte* room_for(orchid_call* call, std::size_t size) {
  if (size > call->output_limit) return nullptr;
  if (call->level > 0) return call->inline_calls->output(call->level, size);
  std::byte* room = call->lane.output(size);
  const std::uint64_t start = room == nullptr ? orchid::ticks_now() : 0;
  while (room == nullptr && orchid_should_stop(call) == 0 &&
         call->rate.duration(orchid::ticks_now() - start) < patience_for_room) {
    ::sched_yield();
    room = call->lane.output(size);
  }
  return room;
}

}  // namespace

extern "C" {

void* orchid_output(orchid_call* call, std::size_t size) {
  std::byte* room = room_for(call, size);
  if (room != nullptr)
    call->output_size = size;
  else if (call->level > 0)
    call->output_refused = true;
  else
    call->page.refused.fetch_or(orchid::executor::refused_output, std::memory_order_relaxed);
  return room;
}

void* orchid_append(orchid_call* call, std::size_t size) {
  const std::size_t written = call->output_size;
  // A sum that is too large for its type is over every limit.
  const std::size_t wanted =
      size > std::numeric_limits<std::size_t>::max() - written ? size : written + size;
  auto* room = static_cast<std::byte*>(orchid_output(call, wanted));
  return room == nullptr ? nullptr : room + written;
}

std::int32_t orchid_exchange(orchid_call* call, const void** input, std::size_t* size) {
  std::span<const std::byte> chunk;
  auto next = orchid_should_stop(call) != 0 ? orchid::executor::CallStream::Next::stop
                                            : orchid::executor::CallStream::Next::end;
  if (call->stream != nullptr) next = call->stream->exchange(*call, chunk);
  *input = chunk.data();
  *size = chunk.size();
  switch (next) {
    case orchid::executor::CallStream::Next::chunk:
      return ORCHID_CHUNK;
    case orchid::executor::CallStream::Next::end:
      return ORCHID_END_OF_INPUT;
    case orchid::executor::CallStream::Next::stop:
      break;
  }
  return ORCHID_STOP;
}

void orchid_error(orchid_call* call, const char* message, std::size_t size) {
  call->set_message({message, size});
}

void orchid_log(orchid_call* call, const char* text, std::size_t size) {
  call->log.append({text, size});
}

int orchid_should_stop(orchid_call* call) {
  return call->page.stop.load(std::memory_order_relaxed) == call->number ? 1 : 0;
}

void orchid_progress(orchid_call* call, double fraction) {
  const double bounded = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
  const auto thousandths = static_cast<std::uint64_t>(bounded * orchid::transport::whole_progress);
  call->progress.store(orchid::transport::pack_progress(call->request_id, thousandths),
                       std::memory_order_relaxed);
}

std::int64_t orchid_time_left_ns(orchid_call* call) {
  if (call->deadline_ns == 0) return std::numeric_limits<std::int64_t>::max();
  const auto elapsed = call->rate.duration(orchid::ticks_since(call->started_ticks));
  return static_cast<std::int64_t>(call->deadline_ns) - elapsed.count();
}

std::uint32_t orchid_data_count(orchid_call* call) {
  return static_cast<std::uint32_t>(call->data.size());
}

std::int32_t orchid_data(orchid_call* call, std::uint32_t index, const void** bytes,
                         std::uint64_t* size) {
  *bytes = nullptr;
  *size = 0;
  if (index >= call->data.size()) {
    call->set_message("data object " + std::to_string(index) + " was asked for, and the call has " +
                      std::to_string(call->data.size()));
    return ORCHID_ERROR;
  }
  *bytes = call->data[index].bytes;
  *size = call->data[index].size;
  return ORCHID_OK;
}

std::int32_t orchid_data_open(orchid_call* call, const char* name, const void** bytes,
                              std::uint64_t* size) {
  *bytes = nullptr;
  *size = 0;
  const auto opened = call->objects.open(name_of(name));
  if (!opened) return refuse(call, opened.error());
  *bytes = opened->data();
  *size = opened->size();
  return ORCHID_OK;
}

std::int32_t orchid_data_create(orchid_call* call, std::uint64_t most, void** room) {
  *room = nullptr;
  const auto created = call->objects.create(most);
  if (!created) return refuse(call, created.error());
  *room = created->data();
  return ORCHID_OK;
}

std::int32_t orchid_data_seal(orchid_call* call, void* room, std::uint64_t used, const char* name,
                              char* id) {
  if (id != nullptr) *id = 0;
  const auto sealed = call->objects.seal(room, used, name_of(name));
  if (!sealed) return refuse(call, sealed.error());
  if (id == nullptr) return ORCHID_OK;
  const std::string text = orchid::to_string(*sealed);
  static_assert(ORCHID_DATA_ID_SIZE == 35);
  std::memcpy(id, text.c_str(), ORCHID_DATA_ID_SIZE);
  return ORCHID_OK;
}

std::int32_t orchid_leased_open(orchid_call* call, const char* lease, std::uint32_t* memory,
                                std::uint64_t* size) {
  *memory = 0;
  *size = 0;
  const auto opened = call->memory.open(name_of(lease));
  if (!opened) {
    const std::int32_t status =
        refuse(call, orchid::executor::CallMemory::Refusal{.why = opened.error()});
    const orchid::ErrorCode code = opened.error().code;
    const bool may_help =
        code == orchid::ErrorCode::quota || code == orchid::ErrorCode::unreachable ||
        code == orchid::ErrorCode::timed_out || code == orchid::ErrorCode::no_capacity;
    return may_help ? ORCHID_MEMORY_NO_WAY : status;
  }
  *memory = opened->memory;
  *size = opened->size.value;
  return ORCHID_OK;
}

std::int32_t orchid_leased_put(orchid_call* call, std::uint32_t memory, std::uint64_t offset,
                               const void* bytes, std::uint64_t size) {
  return tell(call, call->memory.put(memory, offset, {static_cast<const std::byte*>(bytes), size}));
}

std::int32_t orchid_leased_get(orchid_call* call, std::uint32_t memory, std::uint64_t offset,
                               void* bytes, std::uint64_t size) {
  return tell(call, call->memory.get(memory, offset, {static_cast<std::byte*>(bytes), size}));
}

std::int32_t orchid_leased_fetch_add(orchid_call* call, std::uint32_t memory, std::uint64_t offset,
                                     std::uint64_t add, std::uint64_t* before) {
  return tell(call,
              call->memory.change(
                  memory, {.ask = orchid::MemoryAsk::fetch_add, .offset = offset, .operand = add}),
              before);
}

std::int32_t orchid_leased_compare_swap(orchid_call* call, std::uint32_t memory,
                                        std::uint64_t offset, std::uint64_t expected,
                                        std::uint64_t desired, std::uint64_t* before) {
  return tell(call,
              call->memory.change(memory, {.ask = orchid::MemoryAsk::compare_swap,
                                           .offset = offset,
                                           .operand = desired,
                                           .expected = expected}),
              before);
}

std::int32_t orchid_leased_fence(orchid_call* call, std::uint32_t memory) {
  return tell(call, call->memory.fence(memory));
}

std::int32_t orchid_leased_run(orchid_call* call, std::uint32_t memory,
                               const orchid_leased_step* steps, std::uint64_t count) {
  return tell(call, call->memory.run(memory, {steps, count}));
}

std::int32_t orchid_leased_start(orchid_call* call, std::uint32_t memory,
                                 const orchid_leased_step* steps, std::uint64_t count,
                                 std::uint64_t* ticket) {
  return tell(call, call->memory.start(memory, {steps, count}), ticket);
}

std::int32_t orchid_leased_wait(orchid_call* call, std::uint32_t memory, std::uint64_t ticket) {
  return tell(call, call->memory.wait(memory, ticket));
}

std::uint64_t orchid_invocation_id(orchid_call* call) { return call->request_id; }
std::int32_t orchid_core(orchid_call* call) { return call->core; }
std::int32_t orchid_core_count(orchid_call* call) { return call->core_count; }

}  // extern "C"
