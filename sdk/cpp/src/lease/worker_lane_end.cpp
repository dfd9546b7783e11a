// How calls leave a lane without an answer: their callers want to be rid of them, or their worker
// has ended, is given up, or is out of reach.
#include <algorithm>

#include "lease/lease_core.h"
#include "lease/lease_threads.h"
#include "lease/worker_lane.h"
#include "problem.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds patience_with_front{5};
constexpr unsigned most_attempts = 4;
/// A lane that breaks with its worker's process is followed by the executor's word within
/// milliseconds; a longer silence means that the executor hangs or is gone too.
constexpr std::chrono::seconds last_words_patience{2};
constexpr std::chrono::seconds replacement_patience{10};
constexpr unsigned most_failed_openings = 3;

}  // namespace

/// Calls that their callers want to be rid of.
void WorkerLane::obey_callers() {
  for (std::uint64_t i = head_; i < tail_; ++i) {
    Flight& flight = flights_[i % flight_limit];
    if (flight.call == nullptr) continue;
    if (flight.call->given_up.load(std::memory_order_acquire)) {
      const bool front = i == head_;
      DirectCall& call = *std::exchange(flight.call, nullptr);
      call.error = std::make_unique<Error::Details>(
          failure_of(call, ErrorKind::deadline_exceeded, "the call's deadline has passed"));
      finish(call);
      if (front) return replace("a call is overdue and the executor did not end it");
    } else if (flight.call->cancel_wanted.load(std::memory_order_acquire)) {
      flight.call->cancelled = true;
      if (i == head_) {
        if (!std::exchange(flight.cancel_sent, true)) tell(LaneCancel{flight.request});
      } else {
        DirectCall& call = *std::exchange(flight.call, nullptr);
        call.error = std::make_unique<Error::Details>(
            failure_of(call, ErrorKind::cancelled, "the call was cancelled before it started"));
        finish(call);
      }
    }
  }
}

void WorkerLane::relieve(MonotonicTime now) {
  if (tail_ - head_ < 2) return;
  if (front_looked_ != head_ || front_since_ == MonotonicTime{}) {
    front_looked_ = head_;
    front_since_ = now;
    return;
  }
  if (now - front_since_ < patience_with_front || core_.idle_workers() == 0) return;
  // From the back, so that they wait in their old order. Their copies run here too, some day;
  // nobody looks at what they answer.
  for (std::uint64_t i = tail_ - 1; i > head_; --i) {
    Flight& flight = flights_[i % flight_limit];
    if (flight.call == nullptr || flight.call->home != nullptr) continue;
    --flight.call->attempt;
    core_.put_back(*std::exchange(flight.call, nullptr));
  }
}

void WorkerLane::worker_ended(LaneEnded ended) {
  (void)take_answers();  // what it answered before its end counts
  if (end_ && end_->local != nullptr) ended.log = end_->local->running_log(ended.request);
  ++opening_;  // a connection that is being made leads nowhere
  detach(phase_.load(std::memory_order_relaxed) == LanePhase::claiming ? LanePhase::claiming
                                                                       : LanePhase::replacing);
  empty(ended);
  core_.lane_changed();
}

/// This worker is given up: the executor puts another one in its place.
void WorkerLane::replace(const std::string& reason) {
  const LanePhase phase = phase_.load(std::memory_order_relaxed);
  if (phase != LanePhase::ready && phase != LanePhase::losing) return;
  const std::uint64_t front = head_ == tail_ ? 0 : flights_[head_ % flight_limit].request;
  detach(LanePhase::replacing);
  tell(LaneReplace{reason});
  empty({.request = front, .outcome = Outcome::worker_lost, .message = reason, .started = true});
  if (kind_ == LaneKind::ucx) {
    replacement_asked_ = true;
    await_executor(replacement_patience);
  }
  core_.lane_changed();
}

/// A lane between hosts is of no use any more. The executor knows what became of the worker, and
/// says so, unless it is gone as well.
void WorkerLane::lane_failed(const Failure& why) {
  if (why.code != ErrorCode::unreachable) return replace(why.message);
  if (phase_.load(std::memory_order_relaxed) != LanePhase::ready) return;
  phase_.store(LanePhase::losing, std::memory_order_release);
  trouble_ = why.message;
  await_executor(last_words_patience);
  core_.lane_changed();
}

/// No lane to the worker that was announced. It may have died meanwhile: then the next one comes.
void WorkerLane::opening_failed(const Failure& why) {
  const bool futile =
      why.code == ErrorCode::unsupported || why.code == ErrorCode::bad_configuration;
  if (futile || ++failed_openings_ == most_failed_openings) return die(why);
  trouble_ = why.message;
  await_executor(last_words_patience);
}

void WorkerLane::await_executor(MonotonicTime::duration patience) {
  patience_ends_ = std::chrono::steady_clock::now() + patience;
  is_timed_.store(true, std::memory_order_relaxed);
  core_.watch_closely();
}

void WorkerLane::stop_waiting() {
  replacement_asked_ = false;
  is_timed_.store(false, std::memory_order_relaxed);
}

void WorkerLane::check_time(MonotonicTime now) {
  if (!is_timed_.load(std::memory_order_relaxed) || now < patience_ends_) return;
  if (replacement_asked_)
    return die({ErrorCode::unreachable, "the executor sends no other worker (" + trouble_ + ")"});
  if (phase_.load(std::memory_order_relaxed) == LanePhase::losing) return replace(trouble_);
  tell(LaneReplace{trouble_});
  replacement_asked_ = true;
  await_executor(replacement_patience);
}

void WorkerLane::detach(LanePhase next) {
  pid_.store(0, std::memory_order_relaxed);
  stop_waiting();
  if (end_) {
    if (const auto threads = core_.threads(); threads && wake_watch_ != 0)
      threads->lanes.forget(end_->client->wake_descriptor(), wake_watch_);
    wake_watch_ = 0;
    end_->leave_behind();
    end_.reset();
  }
  for (Slot& slot : slots_) slot = {.usual_run = slot.usual_run};
  phase_.store(next, std::memory_order_release);
}

/// Takes out all calls after the worker's end. Only the oldest can have been started; between hosts
/// it can also have been answered, and the answer lost.
void WorkerLane::empty(const LaneEnded& how) {
  const LaneEnded unheard{.request = how.request,
                          .outcome = Outcome::worker_lost,
                          .message = "the worker was lost, and its answer with it",
                          .started = true};
  if (stream_ != nullptr) lose_stream(how);
  while (head_ != tail_) {  // from the back, so that they wait in their old order
    const Flight flight = flights_[(tail_ - 1) % flight_limit];
    --tail_;
    if (flight.call == nullptr) continue;
    if (how.started && flight.request == how.request) {
      lost(*flight.call, how);
    } else if (kind_ == LaneKind::ucx && flight.call->at_most_once) {
      lost(*flight.call, unheard);
    } else {
      --flight.call->attempt;
      core_.put_back(*flight.call);
    }
  }
  load_.store(0, std::memory_order_relaxed);
}

void WorkerLane::lost(DirectCall& call, const LaneEnded& how) {
  const bool input_may_have_changed = call.home != nullptr;
  const bool in_time =
      call.due == MonotonicTime::min() || std::chrono::steady_clock::now() < call.due;
  if (how.outcome == Outcome::evicted) ++call.evictions;
  if (is_retryable(how.outcome) && !call.at_most_once && !call.cancelled && in_time &&
      !input_may_have_changed && call.attempt - call.evictions < most_attempts)
    return core_.put_back(call);
  Outcome outcome = how.outcome;
  if (is_retryable(outcome) && call.cancelled) outcome = Outcome::cancelled;
  if (is_retryable(outcome) && !in_time) outcome = Outcome::deadline_exceeded;
  const auto kind = parse_error_kind(to_string(outcome)).value_or(ErrorKind::internal);
  call.error = std::make_unique<Error::Details>(
      failure_of(call, kind, how.message.empty() ? std::string(to_string(outcome)) : how.message));
  call.error->log = how.log.text;
  finish(call);
}

/// The executor has gone, has refused, or nobody wants this lane any more.
void WorkerLane::die(const Failure& why) {
  if (phase_.load(std::memory_order_relaxed) == LanePhase::dead) return;
  (void)take_answers();
  if (phase_.load(std::memory_order_relaxed) == LanePhase::claiming)
    core_.lane_refused({why.code, why.message});
  const std::uint64_t front = head_ == tail_ ? 0 : flights_[head_ % flight_limit].request;
  detach(LanePhase::dead);
  if (const auto threads = core_.threads(); threads && socket_watch_ != 0)
    threads->lanes.forget(socket_->descriptor(), socket_watch_);
  socket_watch_ = 0;
  socket_.reset();
  const Outcome outcome = why.code == ErrorCode::cancelled || why.code == ErrorCode::lease_ended
                              ? Outcome::evicted
                              : Outcome::worker_lost;
  empty({.request = front, .outcome = outcome, .message = why.message, .started = true});
  core_.lane_died();
}

}  // namespace orchid::sdk
