// The granted workers: how they come, what they load, when they go.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "dispatcher/dispatcher.h"
#include "foundation/log.h"
#include "lane_client/policy.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::milliseconds calm_look{1000};
constexpr std::chrono::milliseconds failed_claim_penalty{100};
constexpr std::chrono::milliseconds shortest_hold{
    20};  // else two starving threads would pass a worker to and fro all the time
constexpr std::chrono::milliseconds longest_clog{20};

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
  auto place = std::make_unique<DispatchPlace>(std::move(grant), now);
  const auto coming = next_coming(now);
  if (coming == nullptr)  // calls have it, and what was asked for ahead is to be asked for again
    for (Coming& one : coming_) one.is_asked_for = false;
  const std::uint64_t module =
      coming != nullptr && place->is_apart() ? function_of(coming).number : 0;
  if (const auto opened = open_lane(*place, module, coming)) {
    if (coming != nullptr) {
      place->ahead_of = coming;
      place->ahead_until = coming_.front().until;
      coming_.pop_front();
      log::info("event=worker_ahead lease={}", to_string(lease));
      if (options_.counts != nullptr) options_.counts->ahead.add();
    }
    place->suspect = silent;
    if (silent) ++demand_.useless_workers;
    places_.push_back(std::move(place));
  } else {
    delayed_returns_.emplace_back(now + failed_claim_penalty, lease);
  }
  next_look_ = std::min(next_look_, now + busy_look);
  arm_timer(now);
}

/// `module`: whose worker it will be, at a place that has one for each; 0: that shows later.
Result<void> Dispatcher::open_lane(DispatchPlace& place, std::uint64_t module,
                                   const std::shared_ptr<const FunctionVersion>& version) {
  auto lane = DispatchLane::open(io_, clock_, place, *this);
  if (!lane) {
    log::warn("event=lane_failed lease={} reason=\"{}\"", to_string(place.grant().lease),
              lane.error().message);
    return fail(std::move(lane.error()));
  }
  (*lane)->module = module;
  (*lane)->last_version = version;
  place.lanes.push_back(std::move(*lane));
  return {};
}

/// At a place that has a worker for each module it gets one, if need be in place of that which was
/// used longest ago.
bool Dispatcher::load(DispatchPlace& place, DispatchFunction& function,
                      const std::shared_ptr<const FunctionVersion>& version,
                      std::optional<std::chrono::milliseconds> time_left) {
  if (DispatchLane* lane = place.lane_for(function.number)) {
    const bool attaches = lane->attach(data_of_first(function));
    return lane->announce(function.number, version, time_left) || attaches;
  }
  if (place.is_full()) {
    DispatchLane* oldest = place.least_recently_used(
        [&](std::uint64_t other) { return other != function.number && is_waited_for(other); });
    if (oldest != nullptr) close_lane(*oldest);
    if (oldest != nullptr && options_.counts != nullptr) options_.counts->evictions.add();
  }
  if (place.is_full() || !open_lane(place, function.number, version))
    place.claims_again = clock_.now() + failed_claim_penalty;
  else if (options_.counts != nullptr)
    options_.counts->swaps.add();
  return true;
}

void Dispatcher::worker_refused(LeaseId lease) { refused_ = lease; }

void Dispatcher::workers_asked_back(unsigned count, const std::vector<ExecutorId>& where) {
  debts_where_.insert(where.begin(), where.end());
  debts_ = std::min<unsigned>(count, static_cast<unsigned>(places_.size()));
  settle_debts(clock_.now());
}

void Dispatcher::lease_ended(LeaseId lease) {
  const auto find = [&] {
    const auto found =
        std::ranges::find(places_, lease, [](const auto& place) { return place->grant().lease; });
    return found == places_.end() ? nullptr : found->get();
  };
  DispatchPlace* place = find();
  // By index: a lane that is lost leaves its place, and the last one takes the place along.
  for (std::size_t i = 0; place != nullptr && i < place->lanes.size(); place = find()) {
    const DispatchLane* lane = place->lanes[i].get();
    place->lanes[i]->hear();
    place = find();
    if (place == nullptr || (i < place->lanes.size() && place->lanes[i].get() == lane)) ++i;
  }
  if (place != nullptr)
    lose_place(*place, {.outcome = Outcome::evicted,
                        .why = "the worker's cores were taken back",
                        .returns_lease = false});
}

void Dispatcher::executor_answers(const ExecutorId& executor, bool answers) {
  if (answers)
    silent_executors_.erase(executor);
  else
    silent_executors_.insert(executor);
  demand_.useless_workers = 0;
  for (const auto& place : places_) {
    if (place->grant().executor == executor) place->suspect = !answers;
    if (place->suspect) ++demand_.useless_workers;
  }
  update_want();
  if (waiting_count_ > 0) pump();
}

void Dispatcher::lane_broken(DispatchLane& lane, const Failure& why) {
  lose_lane(lane, {.why = "the executor's end of the lane is gone: " + why.message,
                   .penalty = penalty_of(lane)});
}

/// The lane is gone for good, with whatever runs in it. With the last one goes the place, and with
/// one of several that cannot be claimed, unless another one has calls.
void Dispatcher::lose_lane(DispatchLane& lane, const Loss& loss) {
  DispatchPlace& place = lane.place();
  if (lane.phase() == LanePhase::claiming) {
    place.claims_again = clock_.now() + failed_claim_penalty;
    ++place.failed_claims;
  }
  const bool hopeless = place.failed_claims >= lane_client::most_failed_openings && place.is_idle();
  if (place.lanes.size() == 1 || hopeless) return lose_place(place, loss);
  const EndPtr end = lane.end();
  log::info("event=worker_lost lease={} reason=\"{}\"", to_string(place.grant().lease), loss.why);
  lane.close();
  const MonotonicTime now = clock_.now();
  if (end && !has_ready_lane()) last_ready_ = now;
  if (end) drain(lane, end);
  end_calls(lane, end,
            {.request = lane.flights.front_request(),
             .outcome = loss.outcome,
             .message = loss.why,
             .started = true});
  close_lane(lane);
  next_look_ = std::min(next_look_, now + busy_look);
  if (waiting_count_ > 0) pump();
  arm_timer(now);
}

void Dispatcher::lose_place(DispatchPlace& place, const Loss& loss) {
  const LeaseId lease = place.grant().lease;
  const MonotonicTime now = clock_.now();
  log::info("event=place_lost lease={} reason=\"{}\"", to_string(lease), loss.why);
  place.closed = true;
  DispatchLane* const busy = place.busy();
  const EndPtr end = busy != nullptr ? busy->end() : nullptr;
  const bool was_ready = place.is_ready();
  for (const auto& lane : place.lanes) lane->close();
  if (was_ready && !has_ready_lane()) last_ready_ = now;
  if (busy != nullptr) {
    if (end) drain(*busy, end);
    end_calls(*busy, end,
              {.request = busy->flights.front_request(),
               .outcome = loss.outcome,
               .message = loss.why,
               .started = true});
  }
  bury(place);
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

void Dispatcher::give_back(DispatchPlace& place) {
  const LeaseId lease = place.grant().lease;
  for (const auto& lane : place.lanes) lane->close();
  if (!has_ready_lane()) last_ready_ = clock_.now();
  bury(place);
  supply_.give_back(options_.id, lease);
}

/// One of several; its worker goes.
void Dispatcher::close_lane(DispatchLane& lane) {
  lane.close();
  if (auto owned = lane.place().take_out(lane)) dead_lanes_.push_back(std::move(owned));
}

void Dispatcher::bury(DispatchPlace& place) {
  const auto found =
      std::ranges::find(places_, &place, [](const auto& owned) { return owned.get(); });
  if (found == places_.end()) return;
  if (place.suspect && demand_.useless_workers > 0) --demand_.useless_workers;
  dead_places_.push_back(std::move(*found));
  places_.erase(found);
  debts_ = std::min<unsigned>(debts_, static_cast<unsigned>(places_.size()));
}

void Dispatcher::became_idle(DispatchLane& lane, MonotonicTime now) {
  lane.idle_since = now;
  lane.place().idle_since = now;
  look_soon(now);
}

/// So that the others hear that we do not want it any more.
void Dispatcher::look_soon(MonotonicTime now) {
  next_look_ = std::min(next_look_, now + busy_look);
  arm_timer(now);
  if (debts_ > 0) settle_debts(now);
}

/// Idle ones go at once; a busy one is marked, and goes after the calls that are in it.
void Dispatcher::settle_debts(MonotonicTime now) {
  std::vector<DispatchPlace*> candidates;
  for (const auto& place : places_)
    if (place->is_ready()) candidates.push_back(place.get());
  const auto is_asked = [this](const DispatchPlace* place) {
    return debts_where_.contains(place->grant().executor);
  };
  std::ranges::sort(candidates, {}, [&](const DispatchPlace* place) {
    return std::tuple(!is_asked(place), !place->is_idle(), !place->leaving,
                      place->is_idle() ? 0 : place->busy()->flights.size());
  });
  unsigned marked = 0;
  for (DispatchPlace* place : candidates) {
    if (marked >= debts_) {
      place->leaving = false;
      continue;
    }
    const bool wanted = waiting_count_ > 0 || !place->is_idle();
    if (wanted && now - place->since < shortest_hold) {
      if (is_asked(place)) ++marked;  // no other one in its place
      continue;                       // looked at again at the next tick
    }
    if (place->is_idle()) {
      --debts_;
      give_back(*place);
    } else {
      place->leaving = true;
      ++marked;
    }
  }
  if (debts_ > 0)
    next_look_ = std::min(next_look_, now + busy_look);
  else
    debts_where_.clear();
}

void Dispatcher::look_after_places(MonotonicTime now) {
  std::vector<DispatchPlace*> present;  // dead ones are kept until `poll`, so the pointers hold
  for (const auto& place : places_) present.push_back(place.get());
  bool calm = waiting_count_ == 0 && debts_ == 0;
  for (DispatchPlace* place : present) {
    look_after(*place, now);
    const auto is_ready = [](const auto& lane) { return lane->phase() == LanePhase::ready; };
    if (!std::ranges::all_of(place->lanes, is_ready)) calm = false;
  }
  if (debts_ > 0) settle_debts(now);
  load_coming(now);
  return_delayed(now);
  if (!delayed_returns_.empty()) calm = false;
  if (wanted_ > workers_wanted(demand_, options_.most_workers)) calm = false;  // until that is told
  const bool nothing = calm && places_.empty() && wanted_ == 0;
  next_look_ = nothing ? MonotonicTime::max() : now + (calm ? calm_look : busy_look);
}

void Dispatcher::look_after(DispatchPlace& place, MonotonicTime now) {
  if (place.is_ready() && place.is_idle() && now - place.idle_since >= options_.give_back_after)
    return give_back(place);
  std::vector<DispatchLane*> present;  // as above
  for (const auto& lane : place.lanes) present.push_back(lane.get());
  for (DispatchLane* lane : present)
    if (lane->phase() != LanePhase::dead) look_after(*lane, now);
}

void Dispatcher::look_after(DispatchLane& lane, MonotonicTime now) {
  if (lane.is_overdue(now))
    return lose_lane(lane, {.why = lane.trouble(), .penalty = penalty_of(lane)});
  if (lane.phase() != LanePhase::ready || !lane.flights.empty()) return;
  if (lane.end()->clogged() && waiting_count_ > 0 && now - lane.idle_since >= longest_clog)
    return give_up_worker(lane, Outcome::worker_lost, "a slow client holds an answer");
  if (now - lane.idle_since >= options_.give_back_after && lane.place().lanes.size() > 1)
    return close_lane(lane);
  if (!lane.trimmed && lane.end()->held == 0 && now - lane.idle_since >= lane_client::trim_after) {
    lane.end()->client.trim();
    lane.trimmed = true;
  }
  lane.detach_unused(now - options_.give_back_after);
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

}  // namespace orchid::gateway
