// What comes back: answers of workers, and the ends of workers.
#include <utility>

#include "dispatcher/dispatcher.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

constexpr unsigned most_lost_workers = 4;

constexpr std::size_t copy_up_to = 4096;  // a copy costs less than holding the lane's room

/// An answer whose bytes are used where they lie. Destroyed on the dispatcher's thread.
struct HeldAnswer {
  HeldAnswer(std::shared_ptr<LaneEnd> lane_end, const transport::LaneResponse& lane_response,
             std::shared_ptr<bool> notice)
      : end(std::move(lane_end)), response(lane_response), room_came_back(std::move(notice)) {
    ++end->held;
  }
  HeldAnswer(const HeldAnswer&) = delete;
  HeldAnswer& operator=(const HeldAnswer&) = delete;
  ~HeldAnswer() {
    end->client.release(response);
    if (--end->held == 0) {
      end->answers_since = 0;
      end->bytes_since = 0;
    }
    *room_came_back = true;
  }
  std::shared_ptr<LaneEnd> end;
  transport::LaneResponse response;
  std::shared_ptr<bool> room_came_back;
};

std::string_view cause_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return {};
    case Outcome::function_error:
      return "the function returned an error";
    case Outcome::function_crashed:
      return "the function crashed";
    case Outcome::function_exited:
      return "the function called exit";
    case Outcome::limit_exceeded:
      return "the function went over a limit";
    case Outcome::deadline_exceeded:
      return "the deadline passed while the function ran";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::evicted:
      return "the worker's place was taken back";
    case Outcome::worker_lost:
      return "the worker was lost";
    case Outcome::no_capacity:
      return "no worker was free";
    case Outcome::bad_request:
      return "the input does not fit the function";
    case Outcome::denied:
      return "not allowed";
  }
  return {};
}

}  // namespace

/// Takes all answers that are there, for the calls of `lane`; `end` may be that of its late worker.
bool Dispatcher::drain(DispatchLane& lane, const EndPtr& end) {
  bool any = false;
  MonotonicTime now{};
  while (!lane.running.empty()) {
    auto response = end->client.receive();
    if (!response) {
      log::warn("event=lane_broken lease={} reason=\"{}\"", to_string(lane.grant().lease),
                response.error().message);
      if (lane.end() == end) {
        empty_lane(lane, end,
                   {.request = lane.running.front().request, .message = response.error().message});
        give_up_worker(lane, response.error().message);
      }
      return true;
    }
    if (!*response) break;
    if (!std::exchange(any, true)) now = clock_.now();
    complete(lane, end, **response, now);
  }
  if (any && lane.running.empty() && lane.phase() == LanePhase::ready) became_idle(lane, now);
  return any;
}

void Dispatcher::complete(DispatchLane& lane, const EndPtr& end,
                          const transport::LaneResponse& response, MonotonicTime now) {
  DispatchCall& call = lane.running.front();
  if (end->held > 0) {
    ++end->answers_since;
    end->bytes_since += response.payload.size() + response.log.size();
  }
  lane.full = false;
  lane.front_since = now;
  // The next call begins now: a cancel that waited for this goes out.
  if (const auto next = std::next(lane.running.begin()); next != lane.running.end())
    if (next->cancelled && !std::exchange(next->cancel_sent, true)) lane.cancel(next->request);
  const bool crowded =
      response.outcome == Outcome::limit_exceeded && end->held > 0 && !call.needs_clear_lane;
  if (response.kind == ResponseKind::need_code && !call.answered) {
    lane.forget_slot(call.function->number);
    requeue(call, /*may_have_started=*/false);
  } else if (crowded && !call.answered) {
    // Its room was taken by an answer that a client reads slowly: that is not the function's fault.
    call.needs_clear_lane = true;
    requeue(call, /*may_have_started=*/false);
  } else if (!call.answered) {
    if (response.outcome == Outcome::ok || response.outcome == Outcome::function_error)
      call.function->estimate(call.call.entry).observe(response.run_time);
    return finish(call, make_result(call, end, response));  // which releases the response
  } else {
    finish(call, {});
  }
  end->client.release(response);
}

CallResult Dispatcher::make_result(const DispatchCall& call, const EndPtr& end,
                                   const transport::LaneResponse& response) {
  CallResult result;
  result.outcome = response.outcome;
  result.node = call.lane->grant().node;
  result.lease = call.lane->grant().lease;
  result.attempt = call.attempt;
  result.timings = call.timings;
  result.timings.run = response.run_time;
  result.timings.quick_code = response.quick_code;
  result.log = std::string(response.log);
  result.log_dropped = response.log_dropped;
  if (response.payload_is_message) {
    const std::size_t length =
        std::min<std::size_t>(response.payload.size(), limits::message_size.value);
    result.message.assign(reinterpret_cast<const char*>(response.payload.data()), length);
    end->client.release(response);
  } else {
    result.output = take_payload(end, response);
  }
  if (result.message.empty()) result.message = cause_of(result.outcome);
  return result;
}

Payload Dispatcher::take_payload(const EndPtr& end, const transport::LaneResponse& response) {
  if (response.payload.size() > copy_up_to)
    return {response.payload, std::make_shared<const HeldAnswer>(end, response, room_came_back_)};
  Payload payload;
  if (!response.payload.empty())
    payload = Payload::of(std::vector<std::byte>(response.payload.begin(), response.payload.end()));
  end->client.release(response);
  return payload;
}

/// Takes the calls out of a lane whose worker is gone: the one that was running ends or runs again,
/// the others run again. The lane must not be usable any more, or its calls would come straight
/// back.
void Dispatcher::empty_lane(DispatchLane& lane, const EndPtr& end, const WorkerEnd& what) {
  lane.leaving = true;
  // From the back, so that they wait in their old order.
  while (!lane.running.empty()) {
    DispatchCall& call = lane.running.back();
    if (call.answered) {
      finish(call, {});
    } else if (call.request == what.request) {
      end_call(call, end, what);
    } else {
      end_call(call, end, {.request = call.request, .started = false});
    }
  }
  lane.leaving = false;
}

void Dispatcher::end_call(DispatchCall& call, const EndPtr& end, const WorkerEnd& what) {
  const LostCall lost{.outcome = what.outcome,
                      .started = what.started,
                      .at_most_once = call.call.at_most_once,
                      .cancelled = call.cancelled,
                      .deadline_passed = clock_.now() >= call.call.deadline,
                      .attempt = call.attempt,
                      .evictions = call.evictions};
  if (!stopped_ && runs_again(lost)) {
    if (what.started && what.outcome == Outcome::evicted) ++call.evictions;
    return requeue(call, what.started);
  }
  Outcome outcome = what.outcome;
  if (call.cancelled && (!what.started || is_retryable(outcome))) outcome = Outcome::cancelled;
  if (lost.deadline_passed && (!what.started || is_retryable(outcome)))
    outcome = Outcome::deadline_exceeded;
  CallResult result;
  result.outcome = outcome;
  result.message = what.message.empty() || outcome != what.outcome ? std::string(cause_of(outcome))
                                                                   : what.message;
  result.node = call.lane->grant().node;
  result.lease = call.lane->grant().lease;
  result.attempt = call.attempt;
  result.timings = call.timings;
  if (end && what.started) {
    auto log = end->client.running_log(call.request);
    result.log = std::move(log.text);
    result.log_dropped = log.dropped;
  }
  finish(call, std::move(result));
}

void Dispatcher::lane_worker_ended(DispatchLane& lane, const LaneEnded& ended) {
  const EndPtr end = lane.end();
  if (!end) return;  // we had given it up before
  lane.detach(LanePhase::replacing);
  if (!has_ready_lane()) last_ready_ = clock_.now();
  drain(lane, end);  // what it answered before its end counts
  WorkerEnd what{.request = ended.request,
                 .started = ended.started,
                 .outcome = ended.outcome,
                 .message = ended.message};
  if (!lane.running.empty()) {
    DispatchCall& next = lane.running.front();
    if (ended.outcome == Outcome::evicted) {
      // The executor's doing; neither call nor function has to do with it.
    } else if (next.request == ended.request) {
      next.call.version->calls.worker_ended(ended.replaced_in);
    } else if (++next.lost_workers % most_lost_workers == 0) {
      // User code can forge the word that it had not begun; it is believed a few times only.
      what.request = next.request;
      what.started = true;
      what.message = "its workers ended one after the other: " + ended.message;
    }
  }
  empty_lane(lane, end, what);
  if (lane.phase() != LanePhase::dead && waiting_count_ > 0) pump();
  arm_timer(clock_.now());
}

}  // namespace orchid::gateway
