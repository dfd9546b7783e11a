#include "lease/lease_core.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "lease/call_batch.h"
#include "lease/lease_threads.h"
#include "problem.h"

namespace orchid::sdk {
namespace {

/// A waiting call is offered to the lanes so often, beside whenever one of them has room.
constexpr std::chrono::milliseconds offer_interval{10};
/// So often the lane thread looks whether lanes with several calls get on.
constexpr std::chrono::milliseconds watch_interval{5};

/// Where this thread found an idle lane last: it stays there, and others take others.
thread_local std::size_t usual_lane = 0;

template <typename Word>
void futex_wait(std::atomic<Word>& word, Word value, MonotonicTime until) {
  const auto time = until.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec absolute{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, &absolute, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

template <typename Word>
void futex_wake(std::atomic<Word>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr,
            0);
}

}  // namespace

void LeaseCore::run(DirectCall& call) {
  WorkerLane* lane = waiting_.load() == 0 ? take_idle_lane(call) : nullptr;
  if (lane == nullptr) {
    enqueue(call);
  } else {
    if (lane->send(call)) {
      // Who cancelled before the call was in the lane did not know whom to tell.
      if (call.cancel_wanted.load()) lane->look_around();
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
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    async->listed = asynchronous_.insert(asynchronous_.end(), async.get());
    const auto due = call.due.time_since_epoch().count();
    if (due < next_due_.load()) {
      next_due_.store(due);
      wakes = true;
    }
  }
  if (wakes)
    if (const auto lease_threads = threads()) lease_threads->lanes.wake();
  WorkerLane* lane = waiting_.load() == 0 ? take_idle_lane(call) : nullptr;
  if (lane == nullptr) return enqueue(call);
  if (!lane->send(call))
    enqueue(call);
  else if (call.cancel_wanted.load())
    lane->look_around();
  lane->leave();
}

WorkerLane* LeaseCore::take_idle_lane(const DirectCall& call) {
  const std::size_t count = lane_count();
  std::size_t index = usual_lane < count ? usual_lane : 0;
  for (std::size_t i = 0; i < count; ++i, ++index) {
    if (index == count) index = 0;
    WorkerLane* lane = lanes_[index].load(std::memory_order_relaxed);
    if (!lane->looks_idle() || !lane->try_drive()) continue;
    if (lane->is_empty() && lane->accepts(call)) {
      usual_lane = index;
      return lane;
    }
    lane->leave();
  }
  return nullptr;
}

/// Why a call is not to wait in the queue. Under the lock.
std::optional<Error::Details> LeaseCore::refusal_of(const DirectCall& call) const {
  if (end_) return end_;
  if (call.cancel_wanted.load())
    return Error::Details{.kind = ErrorKind::cancelled, .message = "the call was cancelled"};
  if (call.given_up.load())
    return Error::Details{.kind = ErrorKind::deadline_exceeded,
                          .message = "the call's deadline has passed"};
  if (call.code->rejected) return call.code->rejected;
  return std::nullopt;
}

void LeaseCore::enqueue(DirectCall& call) {
  call.fix_due(std::chrono::steady_clock::now());
  std::optional<Error::Details> refused;
  {
    const std::lock_guard lock(mutex_);
    refused = refusal_of(call);
    if (!refused) {
      if (call.batch != nullptr) CallBatch::keep_input(call);
      queue_.push(call);
      waiting_.fetch_add(1);
      queue_version_.fetch_add(1);
    }
  }
  if (refused) return finish_with(call, std::move(*refused));
  offer();
}

/// Lets all lanes look at the queue that nobody drives; who drives looks by itself.
void LeaseCore::offer() {
  const std::size_t count = lane_count();
  for (std::size_t i = 0; i < count && waiting_.load() != 0; ++i) {
    WorkerLane* lane = lanes_[i].load(std::memory_order_relaxed);
    if (lane->phase() == LanePhase::ready && lane->try_drive()) lane->leave();
  }
}

DirectCall* LeaseCore::take_waiting(WorkerLane& lane) {
  const std::lock_guard lock(mutex_);
  DirectCall* call = queue_.take([&](const DirectCall& each) { return lane.turn_of(each); });
  if (call == nullptr) return nullptr;
  waiting_.fetch_sub(1);
  call->lane.store(&lane, std::memory_order_release);
  return call;
}

void LeaseCore::put_back(DirectCall& call) {
  call.fix_due(std::chrono::steady_clock::now());
  std::optional<Error::Details> refused;
  {
    const std::lock_guard lock(mutex_);
    refused = refusal_of(call);
    if (!refused) {
      if (call.batch != nullptr) CallBatch::keep_input(call);
      call.lane.store(nullptr, std::memory_order_release);
      queue_.push_front(call);
      waiting_.fetch_add(1);
      queue_version_.fetch_add(1);
    }
  }
  if (refused) finish_with(call, std::move(*refused));
}

bool LeaseCore::remove_waiting(DirectCall& call) {
  const std::lock_guard lock(mutex_);
  if (!queue_.remove(call)) return false;
  waiting_.fetch_sub(1);
  return true;
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
    if (options_.wait == Wait::hot || (options_.wait == Wait::adaptive && waited < ticks_.spin)) {
      if (waited > ticks_.alone) ::sched_yield();
    } else {
      park(call, std::min(until, now + offer_interval));
      if (call.lane.load(std::memory_order_acquire) == nullptr) offer();
    }
  }
}

void LeaseCore::park(DirectCall& call, MonotonicTime until) {
  auto pending = DirectCall::State::pending;
  if (call.state.compare_exchange_strong(pending, DirectCall::State::parked) ||
      pending == DirectCall::State::parked)
    futex_wait(call.state, DirectCall::State::parked, until);
}

/// A call that waits is dropped at its deadline. One that is in a lane has the executor's word to
/// come; its driver gives it up when that is late.
void LeaseCore::overdue(DirectCall& call) {
  if (remove_waiting(call))
    return finish_with(call, {.kind = ErrorKind::deadline_exceeded,
                              .message = "the call's deadline has passed before it started",
                              .hint = "give it more time, or take more workers"});
  WorkerLane* lane = call.lane.load(std::memory_order_acquire);
  if (lane == nullptr || std::chrono::steady_clock::now() < call.due + last_words) return;
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

void LeaseCore::finish_with(DirectCall& call, Error::Details why) {
  if (why.attempt == 0) why.attempt = call.attempt;
  call.error = std::make_unique<Error::Details>(std::move(why));
  finish(call);
}

void LeaseCore::finish(DirectCall& call) {
  if (call.async != nullptr) return finish_async(*call.async);
  CallBatch* const batch = call.batch;
  // From this exchange on the call may be gone; its address still names those who wait for it.
  const auto before = call.state.exchange(DirectCall::State::done);
  if (before == DirectCall::State::parked) futex_wake(call.state);
  if (batch == nullptr) return;
  if (before == DirectCall::State::abandoned) return batch->drop();
  batch_results_.fetch_add(1);
  if (batch_sleepers_.load() != 0) futex_wake(batch_results_);
}

void LeaseCore::wait_for_batch_results(std::uint32_t seen, MonotonicTime until) {
  batch_sleepers_.fetch_add(1);
  futex_wait(batch_results_, seen, until);
  batch_sleepers_.fetch_sub(1);
}

void LeaseCore::wake_batches() {
  batch_results_.fetch_add(1);
  futex_wake(batch_results_);
  poke_lanes();
}

void LeaseCore::finish_async(AsyncCall& async) {
  const std::shared_ptr<AsyncCall> keep = std::move(async.in_flight);
  {
    const std::lock_guard lock(mutex_);
    asynchronous_.erase(async.listed);
  }
  async.home.reset();
  std::vector<std::function<void()>> continuations;
  {
    const std::lock_guard lock(async.mutex);
    if (async.call.state.exchange(DirectCall::State::done) == DirectCall::State::parked)
      futex_wake(async.call.state);
    continuations.swap(async.continuations);
  }
  if (continuations.empty()) return;
  if (const auto lease_threads = threads())
    for (auto& continuation : continuations) lease_threads->lanes.post(std::move(continuation));
}

void LeaseCore::watch_lanes() {
  if (watching_.exchange(true)) return;
  if (const auto lease_threads = threads()) lease_threads->lanes.wake();
}

/// Whether there are lanes to look at again.
bool LeaseCore::relieve_lanes(MonotonicTime now) {
  watching_.store(false);
  bool deep = false;
  for (std::size_t i = 0; i < lane_count(); ++i) {
    WorkerLane* lane = lanes_[i].load(std::memory_order_relaxed);
    if (!lane->wants_watching()) continue;
    deep = true;
    if (!lane->try_drive()) continue;
    lane->look_after(now);
    lane->leave();
  }
  if (deep) watching_.store(true);
  return deep;
}

MonotonicTime LeaseCore::expire(MonotonicTime now) {
  if (watching_.load() && relieve_lanes(now)) {
    offer();
    return std::min(expire_calls(now), now + watch_interval);
  }
  return expire_calls(now);
}

MonotonicTime LeaseCore::expire_calls(MonotonicTime now) {
  const MonotonicTime known{MonotonicTime::duration(next_due_.load())};
  if (waiting_.load() != 0) offer();
  const MonotonicTime offer_next =
      waiting_.load() != 0 ? now + offer_interval : MonotonicTime::max();
  if (now < known) return std::min(known, offer_next);
  std::vector<std::shared_ptr<AsyncCall>> late;
  MonotonicTime next = MonotonicTime::max();
  {
    const std::lock_guard lock(mutex_);
    for (AsyncCall* async : asynchronous_) {
      if (async->call.due > now) {
        next = std::min(next, async->call.due);
      } else {
        next = std::min(next, now + offer_interval);
        late.push_back(async->shared_from_this());
      }
    }
    next_due_.store(next.time_since_epoch().count());
  }
  for (const auto& async : late) overdue(async->call);
  return std::min(next, offer_next);
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
      WorkerLane* lane = lanes_[index].load(std::memory_order_relaxed);
      if (lane->phase() != LanePhase::ready || (idle && !lane->looks_idle())) continue;
      if (!lane->try_drive()) {
        is_one_driven = true;
        continue;
      }
      auto room = lane->allocate(size);
      lane->leave();
      if (room) return std::move(*room);
      why = std::move(room.error());
    }
  }
  if (is_one_driven) return std::nullopt;
  return fail(std::move(why));
}

void LeaseCore::tell_room_waiters() {
  const std::lock_guard lock(room_mutex_);
  lane_left_.notify_all();
}

std::unique_ptr<LaneRoom> LeaseCore::allocate(std::size_t size) {
  auto tried = try_allocate(size);
  if (!tried) {
    // A lane may be driven for as long as a call takes: whoever leaves one says so from here on.
    room_waiters_.fetch_add(1);
    std::unique_lock lock(room_mutex_);
    while (!tried) {
      lock.unlock();
      tried = try_allocate(size);
      lock.lock();
      // One that was left between the look and here has told nobody.
      if (!tried) lane_left_.wait_for(lock, offer_interval);
    }
    room_waiters_.fetch_sub(1);
  }
  if (*tried) return std::move(**tried);
  const Failure& why = tried->error();
  {
    const std::lock_guard lock(mutex_);
    if (end_) throw Error(*end_);
  }
  throw Error({.kind = parse_error_kind(to_string(why.code)).value_or(ErrorKind::internal),
               .message = why.message,
               .hint = "call invoke with an input of your own, which waits and copies",
               .retryable = why.code == ErrorCode::no_capacity});
}

}  // namespace orchid::sdk
