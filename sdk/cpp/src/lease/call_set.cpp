#include "lease/call_set.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "foundation/cpu_pause.h"
#include "lease/lease_access.h"

namespace orchid::sdk {
namespace {

/// So often it looks for late calls and lanes that do not get on.
constexpr std::chrono::milliseconds look_interval{5};
/// So many calls are offered to a lane that has room: one whose code a worker lacks does not hold
/// up others.
constexpr std::size_t most_offered = 8;

}  // namespace

CallSet::CallSet(const orchid::Lease& lease)
    : core_(LeaseAccess::shared_core_of(lease)),
      looked_(ticks_now()),
      results_seen_(core_->batch_results()) {
  core_->keepers().add(*this);
}

CallSet::~CallSet() {
  core_->keepers().remove(*this);
  rest();
  for (BatchCall* call : std::exchange(pending_, {})) batch_->close(*call);
  for (BatchCall* call : batch_->open_calls())
    if (!call->done()) core_->cancel(*call);
  CallBatch::abandon(std::move(batch_));
}

void CallSet::start(std::uint64_t number, const LeasedFunction& function,
                    std::span<const std::byte> input, const CallOptions& options) {
  const std::lock_guard visit(visit_);
  BatchCall& call = batch_->open(number);
  LeaseAccess::ask(call, function, options);
  call.own_copy.assign(input.begin(), input.end());
  call.input = call.own_copy;
  // Who waits is not overtaken.
  if (!pending_.empty() || core_->waiting() != 0 || !send_to_any(call)) pending_.push_back(&call);
}

void CallSet::cancel(std::uint64_t number) {
  const std::lock_guard visit(visit_);
  const auto& open = batch_->open_calls();
  const auto found = std::ranges::find_if(
      open, [number](const BatchCall* call) { return call->index == number && !call->unwanted; });
  if (found == open.end()) return;
  BatchCall& call = **found;
  if (const auto waits = std::ranges::find(pending_, &call); waits != pending_.end()) {
    pending_.erase(waits);
    return batch_->close(call);
  }
  call.unwanted = true;
  if (!call.done()) core_->cancel(call);
}

void CallSet::take(std::vector<Ended>& ended, std::chrono::nanoseconds patience) {
  const std::lock_guard visit(visit_);
  const MonotonicTime until = std::chrono::steady_clock::now() + patience;
  std::uint64_t quiet_since = 0;
  while (true) {
    bool moved = false;
    for (std::size_t i = 0; i < core_->lane_count(); ++i) moved |= serve(i);
    collect(ended);
    const std::uint64_t now = ticks_now();
    look_after_all(now);
    if (!ended.empty() || woken_.exchange(false)) return;
    if (patience.count() <= 0) return;
    if (moved || quiet_since == 0) quiet_since = now;
    if (may_spin(now - quiet_since)) continue;
    const MonotonicTime clock = std::chrono::steady_clock::now();
    if (clock >= until) return;
    sleep(std::min<MonotonicTime>(until, clock + look_interval));
    quiet_since = 0;
  }
}

std::vector<std::uint64_t> CallSet::open() const {
  std::vector<std::uint64_t> numbers;
  for (const BatchCall* call : batch_->open_calls())
    if (!call->unwanted) numbers.push_back(call->index);
  return numbers;
}

void CallSet::rest() {
  const std::lock_guard visit(visit_);
  rest_now();
}

void CallSet::leave_lanes() {
  wake();
  rest();
}

void CallSet::rest_now() {
  put_in_queue();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (!held_[i]) continue;
    held_[i] = false;
    core_->lane_at(i).leave();
  }
}

void CallSet::wake() {
  woken_.store(true);
  core_->wake_batches();
}

/// Whether this thread drives the lane, and calls go there.
bool CallSet::hold(std::size_t lane) {
  if (lane >= held_.size()) held_.resize(lane + 1);
  WorkerLane& one = core_->lane_at(lane);
  const bool is_ready = one.phase() == LanePhase::ready;
  if (!held_[lane]) {
    held_[lane] = is_ready && one.try_drive();
  } else if (!is_ready) {
    held_[lane] = false;
    one.leave();
  }
  return held_[lane];
}

/// Takes answers from a lane and fills it. True: something has happened.
bool CallSet::serve(std::size_t lane) {
  if (!hold(lane)) return false;
  WorkerLane& one = core_->lane_at(lane);
  bool moved = one.receive_answers(batch_.get());
  // Who waits in the queue is not overtaken.
  while (core_->waiting() == 0 && one.phase() == LanePhase::ready) {
    const auto end =
        pending_.begin() + static_cast<std::ptrdiff_t>(std::min(pending_.size(), most_offered));
    const auto next = std::find_if(
        pending_.begin(), end, [&](BatchCall* call) { return one.turn_of(*call) == Turn::now; });
    if (next == end || !one.send(**next)) break;
    pending_.erase(next);
    moved = true;
  }
  return moved;
}

bool CallSet::send_to_any(BatchCall& call) {
  const std::size_t count = core_->lane_count();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lane = (next_lane_ + i) % count;
    if (!hold(lane)) continue;
    WorkerLane& one = core_->lane_at(lane);
    if (one.turn_of(call) != Turn::now || !one.send(call)) continue;
    next_lane_ = lane + 1;
    return true;
  }
  return false;
}

void CallSet::collect(std::vector<Ended>& ended) {
  for (BatchCall* call : batch_->finished()) settle(*call, ended);
  batch_->finished().clear();
  const std::uint32_t results = core_->batch_results();
  if (results == results_seen_) return;
  results_seen_ = results;
  for (std::size_t i = 0; i < batch_->open_calls().size();) {
    BatchCall& call = *batch_->open_calls()[i];
    if (call.done())
      settle(call, ended);  // another takes its place in the list
    else
      ++i;
  }
}

void CallSet::settle(BatchCall& call, std::vector<Ended>& ended) {
  if (!call.unwanted)
    ended.push_back({.number = call.index,
                     .output = std::move(call.output),
                     .run_time = call.run_time,
                     .host = call.host,
                     .error = std::move(call.error)});
  batch_->close(call);
}

/// What is too slow to be done each time.
void CallSet::look_after_all(std::uint64_t ticks) {
  if (ticks - looked_ < core_->rate().ticks(look_interval)) return;
  looked_ = ticks;
  const MonotonicTime now = std::chrono::steady_clock::now();
  const bool others_idle = core_->idle_workers() > 0;
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (held_[i]) core_->lane_at(i).supervise(now, others_idle);
  put_in_queue();
  // A call that ends here leaves the list only when it is collected.
  for (BatchCall* call : batch_->open_calls()) {
    call->fix_due(now);
    if (now >= call->due && !call->done()) core_->overdue(*call);
  }
}

/// Where any worker takes them, also while this thread is elsewhere.
void CallSet::put_in_queue() {
  while (!pending_.empty()) {
    BatchCall& call = *pending_.front();
    pending_.pop_front();
    core_->enqueue(call);
  }
}

bool CallSet::may_spin(std::uint64_t quiet) const {
  const Wait wait = core_->options().wait;
  if (wait == Wait::blocking || (wait == Wait::adaptive && quiet >= core_->ticks().spin))
    return false;
  if (quiet > core_->ticks().alone)
    ::sched_yield();
  else
    cpu_pause();  // each look takes a line away from the worker, which wants to write there
  return true;
}

void CallSet::sleep(MonotonicTime until) {
  put_in_queue();
  if (core_->lane_count() == 1 && !held_.empty() && held_.front())
    return core_->lane_at(0).sleep(until);
  rest_now();
  core_->wait_for_batch_results(results_seen_, until);
}

}  // namespace orchid::sdk
