#include "lease/lease_core.h"

#include <sched.h>

#include <algorithm>

#include "http/problem.h"
#include "lease/lease_threads.h"

namespace orchid::sdk {
namespace {

/// So often the lane thread looks whether lanes with several calls get on.
constexpr std::chrono::milliseconds watch_interval{5};

/// Where this thread found an idle lane last: it stays there, and others take others.
thread_local std::size_t usual_lane = 0;

}  // namespace

void LeaseCore::run(DirectCall& call) {
  WorkerLane* lane = waiting() == 0 ? take_idle_lane(call) : nullptr;
  if (lane == nullptr) {
    enqueue(call);
  } else {
    if (lane->send(call)) {
      // Who cancelled before the call was in the lane did not know whom to tell.
      if (call.cancel_wanted.load()) lane->handle_events();
      lane->drive_for(call);
    } else {
      enqueue(call);
    }
    lane->leave();
  }
  if (!call.done()) wait(call, MonotonicTime::max());
}

void LeaseCore::start(const std::shared_ptr<AsyncCall>& async) {
  DirectCall& call = async->call;
  call.fix_due(std::chrono::steady_clock::now());
  async->in_flight = async;
  list(*async);
  WorkerLane* lane = waiting() == 0 ? take_idle_lane(call) : nullptr;
  if (lane == nullptr) return enqueue(call);
  if (!lane->send(call))
    enqueue(call);
  else if (call.cancel_wanted.load())
    lane->handle_events();
  lane->leave();
}

WorkerLane* LeaseCore::take_idle_lane(const DirectCall& call) {
  const std::size_t count = lane_count();
  std::size_t index = usual_lane < count ? usual_lane : 0;
  for (std::size_t i = 0; i < count; ++i, ++index) {
    if (index == count) index = 0;
    WorkerLane* lane = lanes_[index].load(std::memory_order_relaxed);
    if (!lane->seems_idle() || !lane->try_drive()) continue;
    if (lane->is_empty() && lane->accepts(call)) {
      usual_lane = index;
      return lane;
    }
    lane->leave();
  }
  return nullptr;
}

void LeaseCore::enqueue(DirectCall& call) {
  // A lane that is idle now may take it once it has waited for longer.
  const bool may_wait_for_idle = options().separate_processes || call.data != nullptr;
  if (!queue(call)) return;
  offer();
  if (may_wait_for_idle && waiting() != 0)
    if (const auto lease_threads = threads()) lease_threads->lanes.wake();
}

/// Lets all lanes look at the queue that nobody drives; who drives looks by itself.
void LeaseCore::offer() {
  for (std::size_t i = 0; i < lane_count() && wants_lanes(); ++i) {
    WorkerLane& lane = lane_at(i);
    if (lane.phase() == LanePhase::ready && lane.try_drive()) lane.leave();
  }
}

void LeaseCore::wait(DirectCall& call, MonotonicTime until) {
  const std::uint64_t start = ticks_now();
  while (!call.done()) {
    WorkerLane* lane = call.lane.load(std::memory_order_acquire);
    if (lane != nullptr && lane->try_drive()) {
      lane->drive_for(call, until);
      lane->leave();
      if (call.done()) return;
    }
    const MonotonicTime now = std::chrono::steady_clock::now();
    if (now >= until) return;
    if (call.async == nullptr && now >= call.due) overdue(call);
    const std::uint64_t waited = ticks_now() - start;
    if (options().wait == Wait::hot ||
        (options().wait == Wait::adaptive && waited < ticks().spin)) {
      if (waited > ticks().alone) ::sched_yield();
    } else {
      park(call, std::min(until, now + offer_interval));
      if (call.lane.load(std::memory_order_acquire) == nullptr) offer();
    }
  }
}

/// A call that waits is dropped at its deadline. One that is in a lane has the executor's word to
/// come; its driver gives it up when that is late.
void LeaseCore::overdue(DirectCall& call) {
  if (remove_waiting(call)) return finish_with(call, why_late(call));
  WorkerLane* lane = call.lane.load(std::memory_order_acquire);
  if (lane == nullptr || std::chrono::steady_clock::now() < call.due + lane_client::answer_grace)
    return;
  call.given_up.store(true, std::memory_order_release);
  lane->poke();
}

void LeaseCore::cancel(DirectCall& call) {
  call.cancel_wanted.store(true);
  if (remove_waiting(call))
    return finish_with(call, {.kind = ErrorKind::cancelled,
                              .message = "the call was cancelled before it started"});
  if (WorkerLane* lane = call.lane.load(std::memory_order_acquire)) lane->poke();
}

void LeaseCore::wake_batches() {
  wake_batch_waiters();
  poke_lanes();
}

/// Whether there are lanes to look at again.
bool LeaseCore::supervise_lanes(MonotonicTime now) {
  watch(false);
  const bool others_idle = idle_workers() > 0;
  bool again = false;
  for_each_lane([&](WorkerLane& lane) {
    if (!lane.wants_supervision()) return;
    again = true;
    if (!lane.try_drive()) return;
    lane.supervise(now, others_idle);
    lane.leave();
  });
  if (again) watch(true);
  return again;
}

MonotonicTime LeaseCore::expire(MonotonicTime now) {
  const bool watched = is_watching() && supervise_lanes(now);
  MonotonicTime next = MonotonicTime::max();
  if (wants_lanes()) offer();
  for (const auto& async : take_late(now, next)) overdue(async->call);
  if (wants_lanes()) next = std::min(next, now + offer_interval);
  return watched ? std::min(next, now + watch_interval) : next;
}

/// Of one look at all lanes: room, or why there is none. Nothing: a lane may have some, but
/// somebody drives it.
std::optional<Result<std::unique_ptr<LaneRoom>>> LeaseCore::try_allocate(std::size_t size) {
  const std::size_t count = lane_count();
  Failure why{ErrorCode::no_capacity, "no worker is there now"};
  bool is_one_driven = false;
  // Idle lanes first, then those that nobody drives at this moment.
  for (const bool idle : {true, false}) {
    std::size_t index = usual_lane < count ? usual_lane : 0;
    for (std::size_t i = 0; i < count; ++i, ++index) {
      if (index == count) index = 0;
      WorkerLane& lane = lane_at(index);
      if (lane.phase() != LanePhase::ready || (idle && !lane.seems_idle())) continue;
      if (!lane.try_drive()) {
        is_one_driven = true;
        continue;
      }
      auto room = lane.allocate(size);
      lane.leave();
      if (room) return std::move(*room);
      why = std::move(room.error());
    }
  }
  if (is_one_driven) return std::nullopt;
  return fail(std::move(why));
}

std::unique_ptr<LaneRoom> LeaseCore::allocate(std::size_t size) {
  auto tried = try_allocate(size);
  // A lane may be driven for as long as a call takes: whoever leaves one says so.
  if (!tried) tried = wait_for_room([&] { return try_allocate(size); });
  if (*tried) return std::move(**tried);
  throw_if_ended();
  const Failure& why = tried->error();
  throw Error({.kind = kind_of(why.code),
               .message = why.message,
               .hint = "call invoke with bytes of your own: it waits for a worker and copies them",
               .retryable = why.code == ErrorCode::no_capacity});
}

}  // namespace orchid::sdk
