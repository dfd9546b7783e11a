// What comes back: answers of workers, and the ends of workers.
#include <utility>

#include "dispatcher/dispatcher.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

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

}  // namespace

/// Takes all answers that are there, for the calls of `lane`; `end` may be that of its late worker.
bool Dispatcher::drain(DispatchLane& lane, const EndPtr& end) {
  bool any = false;
  MonotonicTime now{};
  while (!lane.flights.empty()) {
    auto response = end->client.receive();
    if (!response) {
      // Only what runs in the worker can have written it.
      if (lane.end() == end)
        give_up_worker(lane, Outcome::function_crashed,
                       "the function broke the rules of its sandbox: " + response.error().message);
      return true;
    }
    if (!*response) break;
    if (!std::exchange(any, true)) now = clock_.now();
    complete(lane, end, **response, now);
  }
  if (any && lane.flights.empty() && lane.phase() == LanePhase::ready) became_idle(lane, now);
  return any;
}

void Dispatcher::complete(DispatchLane& lane, const EndPtr& end,
                          const transport::LaneResponse& response, MonotonicTime now) {
  DispatchCall* const call = lane.flights.pop();
  if (end->held > 0) {
    ++end->answers_since;
    end->bytes_since += response.payload.size() + response.log.size();
  }
  lane.full = false;
  lane.front_since = now;
  lane.cancel_unwanted();  // the next call begins now
  if (call == nullptr) return end->client.release(response);
  const bool crowded =
      response.outcome == Outcome::limit_exceeded && end->held > 0 && !call->needs_clear_lane;
  if (response.kind == ResponseKind::need_code) {
    end->client.release(response);
    lane.forget_code(call->function->number);
    if (lane_client::runs_again_without_code(call->history)) return requeue(*call);
    return finish_failed(*call, Outcome::worker_lost,
                         "its workers lose the function's code again and again");
  }
  if (response.kind == ResponseKind::need_data) {
    end->client.release(response);
    return needs_data(lane, *call);
  }
  if (crowded) {
    // Its room was taken by an answer that a client reads slowly: that is not the function's fault.
    call->needs_clear_lane = true;
    --call->history.attempt;
    requeue(*call);
    return end->client.release(response);
  }
  if (response.outcome == Outcome::ok || response.outcome == Outcome::function_error)
    call->function->estimate(call->call.entry).observe(response.run_time);
  finish(*call, make_result(*call, end, response));  // which releases the response
}

CallResult Dispatcher::make_result(const DispatchCall& call, const EndPtr& end,
                                   const transport::LaneResponse& response) {
  CallResult result = result_of(call, response.outcome, {});
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
  if (result.message.empty()) result.message = lane_client::cause_of(result.outcome);
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

/// Takes the calls out of a lane whose worker has left it: the one that was running ends or runs
/// again, the others run again.
void Dispatcher::end_calls(DispatchLane& lane, const EndPtr& end, const LaneEnded& ended) {
  lane.flights.end(ended, [&](DispatchCall& call, bool named, const LaneEnded& believed) {
    end_call(call, end, named, believed);
  });
}

void Dispatcher::end_call(DispatchCall& call, const EndPtr& end, bool named,
                          const LaneEnded& ended) {
  const auto verdict = judge(call.history,
                             {.named = named,
                              .at_most_once = call.call.at_most_once,
                              .deadline_passed = clock_.now() >= call.call.deadline},
                             ended);
  if (!stopped_ && verdict.runs_again) return requeue(call);
  CallResult result = stopped_ ? result_of(call, ended.outcome, ended.message)
                               : result_of(call, verdict.outcome, std::string(verdict.message));
  if (end && named) {
    auto log = end->client.running_log(call.request);
    result.log = std::move(log.text);
    result.log_dropped = log.dropped;
  }
  finish(call, std::move(result));
}

void Dispatcher::lane_worker_ended(DispatchLane& lane, const EndPtr& end, const LaneEnded& ended) {
  if (!has_ready_lane()) last_ready_ = clock_.now();
  drain(lane, end);  // what it answered before its end counts
  if (ended.outcome == Outcome::evicted) lane.place().closed = true;
  if (const DispatchCall* next = lane.flights.front();
      next != nullptr && ended.outcome != Outcome::evicted && next->request == ended.request)
    next->call.version->calls.worker_ended(ended.replaced_in);
  // One that ends though nobody has called it would do so again.
  if (std::exchange(lane.called, false))
    lane.idle_since = lane.place().idle_since = clock_.now();
  else
    lane.last_version.reset();
  end_calls(lane, end, ended);
  if (lane.phase() != LanePhase::dead && waiting_count_ > 0) pump();
  arm_timer(clock_.now());
}

}  // namespace orchid::gateway
