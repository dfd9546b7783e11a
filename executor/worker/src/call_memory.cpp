#include "call_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foundation/sockets.h"
#include "packet_wait.h"
#include "protocol/lease_id.h"
#include "transport/ucx_memory.h"

namespace orchid::executor {
namespace {

using Clock = std::chrono::steady_clock;
using MemoryRefused = std::unexpected<CallMemory::Refusal>;

MemoryRefused refuse_memory(Failure why, bool may_have_happened = false) {
  return MemoryRefused({.why = std::move(why), .may_have_happened = may_have_happened});
}

bool is_atomic(MemoryAsk ask) {
  return ask == MemoryAsk::fetch_add || ask == MemoryAsk::compare_swap;
}

Failure way_is_lost(const std::string& lease) {
  return {ErrorCode::unreachable,
          "the process that reached the memory of " + lease +
              " has ended, and what was asked of it may be done or not: open the memory again"};
}

std::string_view as_chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<CallMemory::Opened> CallMemory::open(std::string_view lease) {
  if (!parse_lease_id(lease))
    return fail(ErrorCode::bad_request,
                "leased memory is opened by the id of its lease, such as 'l-3-17'");
  auto known = std::ranges::find(open_, lease, &Open::lease);
  if (known == open_.end() || known->ended) {
    if (std::ranges::count_if(open_, [](const Open& one) { return !one.ended; }) ==
        static_cast<std::ptrdiff_t>(most_open))
      return fail(ErrorCode::quota, "a call has at most " + std::to_string(most_open) +
                                        " leased memories open at once");
    auto answer = depot_.ask({.ask = ServiceAsk::open_memory, .name = std::string(lease)});
    if (!answer) return fail(std::move(answer.error()));
    if (!answer->file)
      return fail(ErrorCode::unreachable, "the depot has sent no descriptor; try again");
    if (known == open_.end()) known = open_.insert(known, Open{.lease = std::string(lease)});
    known->size = ByteCount{answer->bytes};
    known->socket = std::move(answer->file);
    known->ended.reset();
  }
  return Opened{.memory = static_cast<std::uint32_t>(known - open_.begin()), .size = known->size};
}

CallMemory::Answer<CallMemory::Open*> CallMemory::find(std::uint32_t memory) {
  if (memory >= open_.size())
    return refuse_memory(
        {ErrorCode::bad_request,
         "this call has opened no memory with the number " + std::to_string(memory)});
  Open& open = open_[memory];
  if (open.ended) return refuse_memory(*open.ended);
  return &open;
}

CallMemory::Answer<CallMemory::Open*> CallMemory::find(std::uint32_t memory, std::uint64_t offset,
                                                       std::uint64_t bytes) {
  auto open = find(memory);
  if (!open) return open;
  const transport::MemoryRows rows{.offset = offset, .row = bytes};
  if (auto fault = rows.fault((*open)->size)) return refuse_memory(std::move(*fault));
  return open;
}

CallMemory::Answer<void> CallMemory::put(std::uint32_t memory, std::uint64_t offset,
                                         std::span<const std::byte> bytes) {
  auto open = find(memory, offset, bytes.size());
  if (!open) return MemoryRefused(std::move(open.error()));
  for (std::size_t at = 0; at < bytes.size(); at += memory_access_part) {
    const auto part = bytes.subspan(at, std::min(memory_access_part, bytes.size() - at));
    auto done =
        ask(**open, {.ask = MemoryAsk::put, .offset = offset + at, .bytes = part.size()}, part);
    if (!done) return MemoryRefused(std::move(done.error()));
  }
  return {};
}

CallMemory::Answer<void> CallMemory::get(std::uint32_t memory, std::uint64_t offset,
                                         std::span<std::byte> bytes) {
  auto open = find(memory, offset, bytes.size());
  if (!open) return MemoryRefused(std::move(open.error()));
  for (std::size_t at = 0; at < bytes.size(); at += memory_access_part) {
    const auto part = bytes.subspan(at, std::min(memory_access_part, bytes.size() - at));
    auto done =
        ask(**open, {.ask = MemoryAsk::get, .offset = offset + at, .bytes = part.size()}, {}, part);
    if (!done) return MemoryRefused(std::move(done.error()));
  }
  return {};
}

CallMemory::Answer<std::uint64_t> CallMemory::change(std::uint32_t memory, MemoryAccess access) {
  auto open = find(memory, access.offset, transport::atomic_size);
  if (!open) return MemoryRefused(std::move(open.error()));
  if (access.offset % transport::atomic_size != 0)
    return refuse_memory(
        {ErrorCode::bad_request, "an atomic needs 8 bytes whose place is a multiple of 8"});
  return ask(**open, access);
}

CallMemory::Answer<void> CallMemory::fence(std::uint32_t memory) {
  auto open = find(memory);
  if (!open) return MemoryRefused(std::move(open.error()));
  auto done = ask(**open, {.ask = MemoryAsk::fence});
  if (!done) return MemoryRefused(std::move(done.error()));
  return {};
}

CallMemory::Answer<std::uint64_t> CallMemory::ask(Open& open, MemoryAccess access,
                                                  std::span<const std::byte> bytes,
                                                  std::span<std::byte> target) {
  if (stopped_()) return refuse_memory(call_is_to_stop());
  if (++open.last == 0) ++open.last;
  access.sequence = open.last;
  if (auto sent = send_packet(open.socket.get(), encode(access, as_chars(bytes))); !sent) {
    open.ended = way_is_lost(open.lease);
    open.socket.reset();
    return refuse_memory(*open.ended);
  }
  auto answer = await(open, access, target);
  // With nobody else is there an answer to wait for: what comes late must not be taken for another.
  if (open.ended) open.socket.reset();
  return answer;
}

CallMemory::Answer<std::uint64_t> CallMemory::await(Open& open, const MemoryAccess& access,
                                                    std::span<std::byte> target) {
  const auto give_up = [&](Failure why) {
    open.ended = std::move(why);
    return refuse_memory(*open.ended, is_atomic(access.ask));
  };
  auto came = await_packet(open.socket.get(), Clock::now() + patience, stopped_);
  if (!came) return give_up(way_is_lost(open.lease));
  if (!*came) return give_up(stopped_() ? call_is_to_stop() : way_is_lost(open.lease));
  const auto answer = parse_memory_answer((*came)->text, target.size());
  if (!answer || answer->head.sequence != access.sequence || !(*came)->descriptors.empty())
    return give_up(way_is_lost(open.lease));
  const Failure why{answer->head.code, answer->head.message};
  if (answer->head.verdict != MemoryVerdict::done && why.code != ErrorCode::bad_request)
    open.ended = why;
  if (answer->head.verdict == MemoryVerdict::refused) return refuse_memory(why);
  if (answer->head.verdict == MemoryVerdict::unknown) return refuse_memory(why, true);
  std::memcpy(target.data(), answer->bytes.data(), target.size());
  return answer->head.before;
}

}  // namespace orchid::executor
