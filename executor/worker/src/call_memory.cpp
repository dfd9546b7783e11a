#include "call_memory.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "foundation/packet_room.h"
#include "packet_wait.h"
#include "protocol/lease_id.h"
#include "transport/memory_parts.h"

namespace orchid::executor {
namespace {

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

transport::MemoryRows rows_of(const orchid_leased_step& step) {
  return {.offset = step.offset, .row = step.row, .stride = step.stride, .count = step.count};
}

/// How often it is looked whether the call is to stop.
constexpr std::chrono::milliseconds stop_interval{10};

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
    known->lost = known->begun;
    known->done = ++known->begun;
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

CallMemory::Answer<CallMemory::Open*> CallMemory::find(std::uint32_t memory,
                                                       std::span<const orchid_leased_step> steps) {
  auto open = find(memory);
  if (!open) return open;
  for (const orchid_leased_step& step : steps) {
    const transport::MemoryRows rows = rows_of(step);
    if (auto fault = rows.fault((*open)->size)) return refuse_memory(std::move(*fault));
    if (rows.bytes() > 0 && (step.put == nullptr) == (step.get == nullptr))
      return refuse_memory(
          {ErrorCode::bad_request, "a step has either bytes to put or room for what it gets"});
  }
  return open;
}

CallMemory::Answer<void> CallMemory::put(std::uint32_t memory, std::uint64_t offset,
                                         std::span<const std::byte> bytes) {
  const orchid_leased_step step{.offset = offset,
                                .row = bytes.size(),
                                .stride = 0,
                                .count = 1,
                                .put = bytes.data(),
                                .get = nullptr};
  return run(memory, {&step, 1});
}

CallMemory::Answer<void> CallMemory::get(std::uint32_t memory, std::uint64_t offset,
                                         std::span<std::byte> bytes) {
  const orchid_leased_step step{.offset = offset,
                                .row = bytes.size(),
                                .stride = 0,
                                .count = 1,
                                .put = nullptr,
                                .get = bytes.data()};
  return run(memory, {&step, 1});
}

CallMemory::Answer<void> CallMemory::run(std::uint32_t memory,
                                         std::span<const orchid_leased_step> steps) {
  const auto ticket = start(memory, steps);
  if (!ticket) return MemoryRefused(ticket.error());
  return wait(memory, *ticket);
}

CallMemory::Answer<std::uint64_t> CallMemory::start(std::uint32_t memory,
                                                    std::span<const orchid_leased_step> steps) {
  auto open = find(memory, steps);
  if (!open) return MemoryRefused(std::move(open.error()));
  for (const orchid_leased_step& step : steps)
    if (auto begun = begin(**open, step); !begun) return MemoryRefused(std::move(begun.error()));
  return (*open)->begun;
}

CallMemory::Answer<void> CallMemory::wait(std::uint32_t memory, std::uint64_t ticket) {
  if (memory >= open_.size()) return MemoryRefused(find(memory).error());
  Open& open = open_[memory];
  if (ticket > open.begun)
    return refuse_memory(
        {ErrorCode::bad_request, "nothing was started with the ticket " + std::to_string(ticket)});
  if (ticket != 0 && ticket <= open.lost) return refuse_memory(way_is_lost(open.lease));
  finish(open, ticket);
  if (open.done < ticket) return refuse_memory(*open.ended);
  return {};
}

CallMemory::Answer<void> CallMemory::begin(Open& open, const orchid_leased_step& step) {
  const transport::MemoryRows rows = rows_of(step);
  const std::uint64_t size = rows.bytes();
  const std::span source(static_cast<const std::byte*>(step.put), step.put == nullptr ? 0 : size);
  const std::span target(static_cast<std::byte*>(step.get), step.get == nullptr ? 0 : size);
  return transport::for_each_memory_part(
      rows, {.of_row = memory_access_part, .of_rows = memory_access_part},
      [&](const transport::MemoryRows& part, std::uint64_t at) {
        const bool puts = step.put != nullptr;
        return begin(open,
                     {.ask = puts ? MemoryAsk::put : MemoryAsk::get,
                      .offset = part.offset,
                      .bytes = part.bytes(),
                      .row = part.row,
                      .stride = part.stride},
                     puts ? source.subspan(at, part.bytes()) : source,
                     puts ? target : target.subspan(at, part.bytes()));
      });
}

CallMemory::Answer<std::uint64_t> CallMemory::change(std::uint32_t memory, MemoryAccess access) {
  auto open = find(memory);
  if (!open) return MemoryRefused(std::move(open.error()));
  const transport::MemoryRows rows{.offset = access.offset, .row = transport::atomic_size};
  if (auto fault = rows.fault((*open)->size)) return refuse_memory(std::move(*fault));
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

CallMemory::Answer<std::uint64_t> CallMemory::ask(Open& open, const MemoryAccess& access) {
  if (auto begun = begin(open, access); !begun) return MemoryRefused(std::move(begun.error()));
  finish(open, open.begun);
  const bool is_answered = open.done == open.begun;
  if (!is_answered) return refuse_memory(*open.ended, is_atomic(access.ask));
  if (open.answer.verdict == MemoryVerdict::done) return open.answer.before;
  return refuse_memory({open.answer.code, open.answer.message},
                       open.answer.verdict == MemoryVerdict::unknown);
}

CallMemory::Answer<void> CallMemory::begin(Open& open, MemoryAccess access,
                                           std::span<const std::byte> bytes,
                                           std::span<std::byte> target) {
  if (++open.last == 0) ++open.last;
  access.sequence = open.last;
  const std::string head = encode_head(access);
  open.moved_at = Clock::now();
  for (;;) {
    if (open.ended) return refuse_memory(*open.ended);
    if (stopped_()) return refuse_memory(call_is_to_stop());
    const bool has_room = open.begun - open.done < memory_access_window;
    if (has_room) {
      const auto sent = try_send_packet(open.socket.get(), head, as_chars(bytes));
      if (!sent) {
        end(open, way_is_lost(open.lease));
        continue;
      }
      if (*sent) break;
    }
    go_on(open, has_room);
  }
  open.request(++open.begun) = {.ask = access.ask, .sequence = access.sequence, .target = target};
  return {};
}

void CallMemory::finish(Open& open, std::uint64_t number) {
  open.moved_at = Clock::now();  // nobody has looked since it was asked
  while (!open.ended && open.done < number) go_on(open, false);
}

void CallMemory::go_on(Open& open, bool for_room) {
  if (stopped_()) return end(open, call_is_to_stop());
  if (Clock::now() > open.moved_at + patience) return end(open, way_is_lost(open.lease));
  pollfd wait{.fd = open.socket.get(), .events = POLLIN, .revents = 0};
  if (for_room) wait.events |= POLLOUT;
  ::poll(&wait, 1, static_cast<int>(stop_interval.count()));
  if ((wait.revents & POLLOUT) != 0) open.moved_at = Clock::now();
  while ((wait.revents & ~POLLOUT) != 0 && !open.ended) {
    const auto packet = receive_packet(open.socket.get(), false);
    if (!packet) return end(open, way_is_lost(open.lease));
    if (!*packet) return;
    take(open, **packet);
    if (open.done == open.begun) return;
  }
}

void CallMemory::take(Open& open, const Packet& packet) {
  const bool is_awaited = open.done < open.begun;
  const Asked& asked = open.request(open.done + 1);
  const auto answer = parse_memory_answer(packet.text, asked.target.size());
  if (!is_awaited || !answer || answer->head.sequence != asked.sequence ||
      !packet.descriptors.empty())
    return end(open, way_is_lost(open.lease));
  open.moved_at = Clock::now();
  open.answer = answer->head;
  const bool is_done = open.answer.verdict == MemoryVerdict::done;
  const bool moves = asked.ask == MemoryAsk::put || asked.ask == MemoryAsk::get;
  // One that was not done, though it is within the memory: what follows would not be in order.
  if (!is_done && moves) return end(open, {open.answer.code, open.answer.message});
  if (is_done && !asked.target.empty())
    std::memcpy(asked.target.data(), answer->bytes.data(), asked.target.size());
  ++open.done;
  if (!is_done && open.answer.code != ErrorCode::bad_request)
    end(open, {open.answer.code, open.answer.message});
}

/// With nobody else is there an answer to wait for: what comes late must not be taken for another.
void CallMemory::end(Open& open, Failure why) {
  open.ended = std::move(why);
  open.socket.reset();
}

}  // namespace orchid::executor
