// local/lane_signal.h: publishing an entry, and the sleep and wake handshake that goes with it.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "transport/lane_layout.h"
#include "transport/lane_orders.h"
#include "transport/local_lane.h"

namespace orchid::transport {

/// Writes everything but the sequence, then the sequence: entry `number` is valid from that store
/// on. Field by field, from registers: a copy of the whole header would have to wait until what was
/// just written to it has left the store buffer, behind the last entry on its way to the other
/// core.
inline void publish(LaneEntry& entry, const CallHeader& header, std::uint64_t number) {
  CallHeader& out = entry.header;
  out.request_id = header.request_id;
  out.slot = header.slot;
  out.generation = header.generation;
  out.deadline_ns = header.deadline_ns;
  out.payload_length = header.payload_length;
  out.payload_offset = header.payload_offset;
  out.entry = header.entry;
  out.flags = header.flags;
  out.kind = header.kind;
  out.status = header.status;
  out.version = header.version;
  out.held_answers = header.held_answers;
  out.origin = header.origin;
  std::atomic_ref<std::uint64_t>(out.sequence).store(number + 1, lane_orders.publish);
}

[[nodiscard]] inline bool is_published(const LaneEntry& entry, std::uint64_t number) {
  auto& sequence = const_cast<std::uint64_t&>(entry.header.sequence);
  return std::atomic_ref<std::uint64_t>(sequence).load(lane_orders.see_published) == number + 1;
}

/// After `publish`: wakes one that has been asleep for a moment. One that falls asleep just now can
/// be missed; so `wake_if_sleeping` must follow, after this entry or a later one.
inline void wake_if_seen_sleeping(ControlLine& sleeping, int descriptor) {
  // Relaxed: it decides only whether to look again, by an exchange, which one of several wins.
  if (sleeping.value.load(std::memory_order_relaxed) == 0) return;
  if (sleeping.value.exchange(0) == 0) return;
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof(one));
}

/// Misses nobody. The fence pairs with the one in `announce_sleep`: either the sleeper sees the
/// entry, or we see the sleeper. It waits until all our entries are visible, which costs as much as
/// an entry's way to the other core: who has several entries to write pays it once.
inline void wake_if_sleeping(ControlLine& sleeping, int descriptor) {
  std::atomic_thread_fence(lane_orders.fence_before_look);
  wake_if_seen_sleeping(sleeping, descriptor);
}

inline void announce_sleep(ControlLine& sleeping) {
  sleeping.value.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(lane_orders.fence_before_look);
}

/// Nobody woke it: the descriptor is looked at all the same once in so many times, since what
/// somebody else wrote to it would let no poll wait any more.
constexpr unsigned sleeps_without_wake = 16;
/// Far more than wakes can be left over, each of which adds one.
constexpr std::uint64_t most_wakes = 1ULL << 20;

inline void end_sleep(ControlLine& sleeping, int descriptor, WakeWatch& watch) {
  if (sleeping.value.exchange(0) != 0 && ++watch.unprovoked < sleeps_without_wake) return;
  watch.unprovoked = 0;
  std::uint64_t count = 0;
  if (::read(descriptor, &count, sizeof(count)) == sizeof(count) && count > most_wakes)
    watch.flooded = true;
}

}  // namespace orchid::transport
