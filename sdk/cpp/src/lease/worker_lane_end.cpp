// How calls leave a lane without an answer: their callers want to be rid of them, or their worker
// has ended, is given up, or is out of reach.
#include "http/problem.h"
#include "lane_client/last_answers.h"
#include "lease/lane_stream.h"
#include "lease/lease_threads.h"
#include "lease/worker_lane.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds patience_with_front{5};

}  // namespace

/// Calls that their callers want to be rid of.
void WorkerLane::obey_callers() {
  bool is_stuck = false;
  flights_.for_each([&](DirectCall& call) {
    const bool runs = flights_.front() == &call;
    if (call.given_up.load(std::memory_order_acquire)) {
      is_stuck = is_stuck || runs;
      flights_.drop(call);
      finish_with(call, ErrorKind::deadline_exceeded, "the call's deadline has passed");
    } else if (call.cancel_wanted.load(std::memory_order_acquire)) {
      call.history.cancelled = true;
      if (runs) return;
      flights_.drop(call);
      finish_with(call, ErrorKind::cancelled, "the call was cancelled before it started");
    }
  });
  if (is_stuck)
    obey(conversation_.give_up("a call is overdue and the executor did not end it",
                               std::chrono::steady_clock::now()));
  cancel_unwanted();
}

void WorkerLane::supervise(MonotonicTime now, bool others_idle) {
  handle_events();
  relieve(now, others_idle);
  obey(conversation_.expire(now));
}

void WorkerLane::relieve(MonotonicTime now, bool others_idle) {
  if (flights_.size() < 2) return;
  if (front_looked_ != flights_.head() || front_since_ == MonotonicTime{}) {
    front_looked_ = flights_.head();
    front_since_ = now;
    return;
  }
  if (now - front_since_ < patience_with_front || !others_idle) return;
  flights_.take_back([&](DirectCall& call) {
    if (call.home != nullptr || call.at_most_once) return false;
    --call.history.attempt;
    board_.put_back(call);
    return true;
  });
}

/// Nonsense only what runs in the worker can have written. Else the executor may know what became
/// of the worker.
void WorkerLane::lane_failed(const Failure& why) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (why.code == ErrorCode::bad_request)
    obey(conversation_.give_up(lane_client::broken_rules(why.message), now),
         Outcome::function_crashed);
  else
    obey(conversation_.broken(why, now));
  if (conversation_.phase() == LanePhase::losing) board_.lane_changed();
}

/// `outcome`: of the call that runs, if the worker is given up.
void WorkerLane::obey(lane_client::Step step, Outcome outcome) {
  switch (step) {
    case lane_client::Step::none:
      break;
    case lane_client::Step::ask:
      tell(LaneReplace{.reason = conversation_.trouble(), .worker = number_});
      break;
    case lane_client::Step::replace:
      detach();
      tell(LaneReplace{.reason = conversation_.trouble(), .worker = number_});
      end_calls({.request = flights_.front_request(),
                 .outcome = outcome,
                 .message = conversation_.trouble(),
                 .started = true});
      board_.lane_changed();
      break;
    case lane_client::Step::end:
      return die({ErrorCode::unreachable, conversation_.trouble()});
  }
  if (conversation_.is_timed()) board_.watch_closely();
}

/// The worker's oldest call, under its number in the lane; a stream has that of its first entry. 0:
/// it has none.
std::uint64_t WorkerLane::unanswered() const {
  return stream_ != nullptr ? stream_->first_request : flights_.front_request();
}

/// What it answered before its end counts, and what it says it has answered may be coming.
void WorkerLane::take_last_answers(const LaneEnded& ended) {
  (void)take_answers();
  if (!end_ || !lane_client::claims_answer(ended, unanswered())) return;
  lane_client::take_last_answers(*end_->client, lane_client::last_answers_beside_others, [&] {
    (void)take_answers();
    return conversation_.is_ready() && lane_client::claims_answer(ended, unanswered());
  });
}

void WorkerLane::hear(const LaneEnded& message, Files& /*files*/) {
  take_last_answers(message);
  LaneEnded ended = message;
  if (end_ && end_->client->is_at_end()) lane_client::find_forgery(ended, unanswered());
  if (end_ && end_->local != nullptr) ended.log = end_->local->running_log(ended.request);
  ++opening_;  // a connection that is being made leads nowhere
  conversation_.ended(std::chrono::steady_clock::now(), ended.replaced_in);
  detach();
  end_calls(ended);
  board_.lane_changed();
  board_.watch_closely();
}

void WorkerLane::detach() {
  pid_.store(0, std::memory_order_relaxed);
  codes_.clear();
  attached_.clear();
  refused_.clear();
  for (const auto& code : std::exchange(ready_, {})) board_.count_ready(*code, false);
  for (const auto& code : std::exchange(compiling_, {})) board_.count_compiling(*code, false);
  if (!swaps_) leave_seat();
  close_end();
}

void WorkerLane::close_end() {
  if (!end_) return;
  if (const auto threads = board_.threads(); threads && wake_watch_ != 0)
    threads->lanes.forget(end_->client->wake_descriptor(), wake_watch_);
  wake_watch_ = 0;
  end_->leave_behind();
  end_.reset();
}

/// Takes out all calls after the worker's end.
void WorkerLane::end_calls(const LaneEnded& ended) {
  if (const auto stream = std::exchange(stream_, nullptr)) {
    ++stream->news;
    if (board_.ended())
      board_.put_back(stream->call);  // which tells why it has
    else
      end_call(stream->call, true, ended);
  }
  flights_.end(ended, [&](DirectCall& call, bool named, const LaneEnded& believed) {
    end_call(call, named, believed);
  });
  load_.store(0, std::memory_order_relaxed);
}

void WorkerLane::end_call(DirectCall& call, bool named, const LaneEnded& ended) {
  const auto verdict = judge(call.history,
                             {.named = named,
                              .at_most_once = call.at_most_once,
                              .repeatable = call.home == nullptr || call.data != nullptr,
                              .deadline_passed = call.due != MonotonicTime::min() &&
                                                 std::chrono::steady_clock::now() >= call.due,
                              .answer_may_be_lost = kind_ == LaneKind::ucx},
                             ended);
  if (verdict.runs_again) return board_.put_back(call);
  call.error = std::make_unique<Error::Details>(
      failure_of(call, kind_of(verdict.outcome), std::string(verdict.message)));
  if (named) call.error->log = ended.log.text;
  finish(call);
}

/// The executor has gone, has refused, or nobody wants this lane any more.
void WorkerLane::die(const Failure& why) {
  if (conversation_.phase() == LanePhase::dead) return;
  (void)take_answers();
  swaps_ = false;
  if (conversation_.phase() == LanePhase::claiming) board_.lane_refused({why.code, why.message});
  detach();
  if (const auto threads = board_.threads(); threads && socket_watch_ != 0)
    threads->lanes.forget(socket_->descriptor(), socket_watch_);
  socket_watch_ = 0;
  socket_.reset();
  conversation_.die();
  const bool is_taken_back = why.code == ErrorCode::cancelled || why.code == ErrorCode::lease_ended;
  end_calls({.request = flights_.front_request(),
             .outcome = is_taken_back ? Outcome::evicted : Outcome::worker_lost,
             .message = why.message,
             .started = true});
  board_.lane_died();
}

}  // namespace orchid::sdk
