// The granted workers: how they come, what they load, when they go.
#include <algorithm>
#include <tuple>
#include <utility>

#include "dispatcher/dispatcher.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds busy_look{50};
constexpr std::chrono::milliseconds calm_look{1000};
constexpr std::chrono::milliseconds failed_claim_penalty{100};
constexpr std::chrono::milliseconds shortest_hold{
    20};  // else two starving threads would pass a worker to and fro all the time
constexpr std::chrono::milliseconds longest_clog{20};
constexpr std::chrono::seconds trim_after{1};

/// A worker that cannot be claimed is not asked for again at once.
std::chrono::milliseconds penalty_of(const DispatchLane& lane) {
  return lane.phase() == LanePhase::claiming ? failed_claim_penalty : std::chrono::milliseconds{0};
}

}  // namespace

void Dispatcher::worker_granted(WorkerGrant grant) {
  const LeaseId lease = grant.lease;
  refused_ = {};
  if (stopped_) return supply_.give_back(options_.id, lease);
  const MonotonicTime now = clock_.now();
  const bool silent = silent_executors_.contains(grant.executor);
  auto lane = DispatchLane::open(io_, clock_, std::move(grant), *this);
  if (lane) {
    (*lane)->suspect = silent;
    if (silent) ++demand_.useless_workers;
    lanes_.push_back(std::move(*lane));
  } else {
    log::warn("event=lane_failed lease={} reason=\"{}\"", to_string(lease), lane.error().message);
    delayed_returns_.emplace_back(now + failed_claim_penalty, lease);
  }
  next_look_ = std::min(next_look_, now + busy_look);
  arm_timer(now);
}

void Dispatcher::worker_refused(LeaseId lease) { refused_ = lease; }

void Dispatcher::workers_asked_back(unsigned count, const std::vector<ExecutorId>& where) {
  debts_where_.insert(where.begin(), where.end());
  debts_ = std::min<unsigned>(debts_ + count, static_cast<unsigned>(lanes_.size()));
  settle_debts(clock_.now());
}

void Dispatcher::lease_ended(LeaseId lease) {
  const auto find = [&] {
    return std::ranges::find(lanes_, lease, [](const auto& lane) { return lane->grant().lease; });
  };
  if (const auto known = find(); known != lanes_.end()) (*known)->hear();
  const auto found = find();
  if (found == lanes_.end()) return;
  lose_worker(**found, {.outcome = Outcome::evicted,
                        .why = "the worker's cores were taken back",
                        .returns_lease = false});
}

void Dispatcher::executor_answers(const ExecutorId& executor, bool answers) {
  if (answers)
    silent_executors_.erase(executor);
  else
    silent_executors_.insert(executor);
  demand_.useless_workers = 0;
  for (const auto& lane : lanes_) {
    if (lane->grant().executor == executor) lane->suspect = !answers;
    if (lane->suspect) ++demand_.useless_workers;
  }
  update_want();
  if (waiting_count_ > 0) pump();
}

void Dispatcher::lane_claimed(DispatchLane& lane) {
  const MonotonicTime now = clock_.now();
  const bool only_one = std::ranges::none_of(lanes_, [&](const auto& other) {
    return other.get() != &lane && other->phase() == LanePhase::ready;
  });
  if (only_one) ready_since_ = now;
  // A replacement will most likely run what the one before it ran.
  if (lane.last_version) lane.announce(function_of(lane.last_version).number, lane.last_version);
  became_idle(lane, now);
  if (waiting_count_ > 0) pump();
}

void Dispatcher::lane_loaded(DispatchLane&, std::uint64_t number, const LaneSlot& slot) {
  DispatchFunction* function = find_function(number);
  if (function == nullptr) return;
  for (DispatchCall& call : function->waiting) {
    if (call.history.attempt > 0 || call.timings.link.count() > 0) continue;
    call.timings.compile = slot.compile_us;
    call.timings.link = slot.link_us;
  }
  if (waiting_count_ > 0) pump();
}

void Dispatcher::lane_rejected(DispatchLane& lane, std::uint64_t number,
                               const LaneRejected& rejected) {
  DispatchFunction* function = find_function(number);
  if (function == nullptr) return;
  // A worker that dies fails its loads too, and then it may have been the running call that killed
  // it.
  const bool transient = lane_client::is_transient(rejected.code) || !lane.flights.empty();
  std::vector<std::string> failed;  // ids: ending one may bring changes for the others
  for (DispatchCall& call : function->waiting)
    if (!transient || ++call.failed_loads >= lane_client::most_failed_loads)
      failed.push_back(call.call.invocation);
  log::warn("event=load_failed digest={} code={} message=\"{}\"", rejected.digest,
            to_string(rejected.code), rejected.message);
  for (const std::string& invocation : failed) {
    const auto found = by_invocation_.find(invocation);
    if (found != by_invocation_.end() && found->second->is_waiting())
      finish_failed(*found->second, Outcome::function_error,
                    "cannot be loaded: " + rejected.message);
  }
  if (waiting_count_ > 0) pump();
}

void Dispatcher::lane_broken(DispatchLane& lane, const Failure& why) {
  lose_worker(lane, {.why = "the executor's end of the lane is gone: " + why.message,
                     .penalty = penalty_of(lane)});
}

/// The lane is gone for good, with whatever runs in it.
void Dispatcher::lose_worker(DispatchLane& lane, const Loss& loss) {
  const EndPtr end = lane.end();
  const LeaseId lease = lane.grant().lease;
  log::info("event=worker_lost lease={} reason=\"{}\"", to_string(lease), loss.why);
  lane.close();
  const MonotonicTime now = clock_.now();
  if (end && !has_ready_lane()) last_ready_ = now;
  if (end) drain(lane, end);
  end_calls(lane, end,
            {.request = lane.flights.front_request(),
             .outcome = loss.outcome,
             .message = loss.why,
             .started = true});
  bury(lane);
  if (loss.returns_lease) delayed_returns_.emplace_back(now + loss.penalty, lease);
  return_delayed(now);
  next_look_ = std::min(next_look_, now + busy_look);
  if (waiting_count_ > 0) pump();
  arm_timer(now);
}

/// Its worker takes no calls or answers nonsense. The executor puts another one in its place.
void Dispatcher::give_up_worker(DispatchLane& lane, Outcome outcome, const std::string& why) {
  log::warn("event=worker_given_up lease={} reason=\"{}\"", to_string(lane.grant().lease), why);
  const EndPtr end = lane.end();
  lane.replace(why);
  end_calls(lane, end,
            {.request = lane.flights.front_request(),
             .outcome = outcome,
             .message = why,
             .started = true});
  const MonotonicTime now = clock_.now();
  if (!has_ready_lane()) last_ready_ = now;
  next_look_ = std::min(next_look_, now + busy_look);
}

void Dispatcher::give_back(DispatchLane& lane) {
  const LeaseId lease = lane.grant().lease;
  lane.close();
  if (!has_ready_lane()) last_ready_ = clock_.now();
  bury(lane);
  supply_.give_back(options_.id, lease);
}

void Dispatcher::bury(DispatchLane& lane) {
  const auto found =
      std::ranges::find(lanes_, &lane, [](const auto& owned) { return owned.get(); });
  if (found == lanes_.end()) return;
  if (lane.suspect && demand_.useless_workers > 0) --demand_.useless_workers;
  graveyard_.push_back(std::move(*found));
  lanes_.erase(found);
  debts_ = std::min<unsigned>(debts_, static_cast<unsigned>(lanes_.size()));
}

void Dispatcher::became_idle(DispatchLane& lane, MonotonicTime now) {
  lane.idle_since = now;
  // Soon, so that the others hear that we do not want it any more.
  next_look_ = std::min(next_look_, now + busy_look);
  arm_timer(now);
  if (debts_ > 0) settle_debts(now);
}

/// Idle workers go at once; a busy one is marked, and goes after the calls that are in it.
void Dispatcher::settle_debts(MonotonicTime now) {
  std::vector<DispatchLane*> candidates;
  for (const auto& lane : lanes_)
    if (lane->phase() == LanePhase::ready) candidates.push_back(lane.get());
  const auto is_asked = [this](const DispatchLane* lane) {
    return debts_where_.contains(lane->grant().executor);
  };
  std::ranges::sort(candidates, {}, [&](const DispatchLane* lane) {
    return std::tuple(!is_asked(lane), !lane->flights.empty(), !lane->leaving,
                      lane->flights.size());
  });
  unsigned marked = 0;
  for (DispatchLane* lane : candidates) {
    if (marked >= debts_) {
      lane->leaving = false;
      continue;
    }
    const bool wanted = waiting_count_ > 0 || !lane->flights.empty();
    if (wanted && now - lane->since() < shortest_hold) {
      if (is_asked(lane)) ++marked;  // no other one in its place
      continue;                      // looked at again at the next tick
    }
    if (lane->flights.empty()) {
      --debts_;
      give_back(*lane);
    } else {
      lane->leaving = true;
      ++marked;
    }
  }
  if (debts_ > 0)
    next_look_ = std::min(next_look_, now + busy_look);
  else
    debts_where_.clear();
}

void Dispatcher::look_after_lanes(MonotonicTime now) {
  std::vector<DispatchLane*>
      present;  // dead ones stay in the graveyard until `poll`, so the pointers hold
  for (const auto& lane : lanes_) present.push_back(lane.get());
  bool calm = waiting_count_ == 0 && debts_ == 0;
  for (DispatchLane* lane : present) {
    if (lane->phase() == LanePhase::dead) continue;
    look_after(*lane, now);
    if (lane->phase() != LanePhase::ready) calm = false;
  }
  if (debts_ > 0) settle_debts(now);
  return_delayed(now);
  if (!delayed_returns_.empty()) calm = false;
  if (wanted_ > workers_wanted(demand_, options_.most_workers)) calm = false;  // until that is told
  const bool nothing = calm && lanes_.empty() && wanted_ == 0;
  next_look_ = nothing ? MonotonicTime::max() : now + (calm ? calm_look : busy_look);
}

void Dispatcher::look_after(DispatchLane& lane, MonotonicTime now) {
  if (lane.is_overdue(now))
    return lose_worker(lane, {.why = lane.trouble(), .penalty = penalty_of(lane)});
  if (lane.phase() != LanePhase::ready || !lane.flights.empty()) return;
  if (lane.end()->clogged() && waiting_count_ > 0 && now - lane.idle_since >= longest_clog)
    return give_up_worker(lane, Outcome::worker_lost, "a slow client holds an answer");
  if (now - lane.idle_since >= options_.give_back_after) return give_back(lane);
  if (!lane.trimmed && lane.end()->held == 0 && now - lane.idle_since >= trim_after) {
    lane.end()->client.trim();
    lane.trimmed = true;
  }
}

void Dispatcher::return_delayed(MonotonicTime now) {
  std::erase_if(delayed_returns_, [&](const auto& entry) {
    if (entry.first > now) return false;
    supply_.give_back(options_.id, entry.second);
    return true;
  });
}

/// Asks for more at once; for less only at the next look, so that a client that calls again soon
/// does not cause a message.
void Dispatcher::update_want() {
  const unsigned wanted = workers_wanted(demand_, options_.most_workers);
  most_wanted_ = std::max(most_wanted_, wanted);
  if (wanted <= wanted_) return;
  wanted_ = wanted;
  supply_.want_workers(options_.id, wanted_);
  next_look_ = std::min(next_look_, clock_.now() + busy_look);
}

void Dispatcher::lower_want() {
  const unsigned wanted = workers_wanted(demand_, options_.most_workers);
  const unsigned lately = std::max(std::exchange(most_wanted_, wanted), wanted);
  if (lately >= wanted_) return;
  wanted_ = lately;
  supply_.want_workers(options_.id, wanted_);
}

void Dispatcher::arm_timer(MonotonicTime now) {
  if (stopped_) return;
  if (waiting_count_ > 0) next_look_ = std::min(next_look_, now + busy_look);
  MonotonicTime due = next_look_;
  if (!deadlines_.empty()) due = std::min(due, deadlines_.earliest().due);
  if (due >= timer_due_) return;
  timer_due_ = due;
  timer_.expires_after(std::max<MonotonicTime::duration>(due - now, std::chrono::microseconds{0}));
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code error) {
    if (error || alive.expired()) return;
    timer_due_ = MonotonicTime::max();
    expire();
  });
}

bool Dispatcher::has_ready_lane() const {
  return std::ranges::any_of(lanes_,
                             [](const auto& lane) { return lane->phase() == LanePhase::ready; });
}

}  // namespace orchid::gateway
