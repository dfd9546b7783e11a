// How calls end: answered, failed, or at their deadline.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "dispatcher/dispatcher.h"

namespace orchid::gateway {

/// Takes the call out of its list and tells its caller.
void Dispatcher::finish(DispatchCall& call, CallResult result) {
  if (call.is_waiting())
    --waiting_count_;
  else
    leave_lane(call);
  if (call.is_short) {
    --demand_.short_calls;
    demand_.short_work -= call.expected;
  } else {
    --demand_.long_calls;
  }
  if (--call.function->live == 0) call.function->version.reset();  // it holds a descriptor
  CallList own;
  own.splice(own.begin(), *call.home, call.self);
  reindex(*call.function);
  deadlines_.remove(call);
  if (const auto found = by_invocation_.find(call.call.invocation);
      found != by_invocation_.end() && found->second == &call)
    by_invocation_.erase(found);
  if (result.refused != ErrorCode::data_elsewhere) call.call.version->calls.add(result.outcome);
  if (result.outcome == Outcome::ok) call.call.version->calls.ran(result.timings.quick_code);
  const CallDone done = std::move(call.done);
  done(std::move(result));
}

/// One that has not begun. Out of a lane it cannot be taken: its place there stays until the worker
/// comes to it.
void Dispatcher::finish_behind(DispatchCall& call, Outcome outcome, std::string message) {
  if (call.lane != nullptr) call.lane->flights.drop(call);
  finish_failed(call, outcome, std::move(message));
}

CallResult Dispatcher::result_of(const DispatchCall& call, Outcome outcome, std::string message) {
  CallResult result;
  result.outcome = outcome;
  result.message = std::move(message);
  result.attempt = call.history.attempt;
  result.timings = call.timings;
  if (call.lane != nullptr) {
    result.node = call.lane->grant().node;
    result.lease = call.lane->grant().lease;
  }
  return result;
}

void Dispatcher::finish_failed(DispatchCall& call, Outcome outcome, std::string message) {
  CallResult result = result_of(call, outcome, std::move(message));
  if (call.is_waiting() && outcome == Outcome::no_capacity) result.lease = refused_;
  finish(call, std::move(result));
}

void Dispatcher::expire_call(DispatchCall& call, MonotonicTime now) {
  if (call.is_waiting()) return expire_waiting(call, now);
  DispatchLane& lane = *call.lane;
  if (lane.flights.front() != &call)
    return finish_behind(call, Outcome::deadline_exceeded, "the deadline passed while it waited");
  if (call.history.cancelled && now < call.call.deadline)
    give_up_worker(lane, Outcome::cancelled, "cancelled; its worker did not answer");
  else
    give_up_worker(lane, Outcome::deadline_exceeded,
                   "the deadline passed, and its worker did not answer");
  if (waiting_count_ > 0) pump();
}

/// Of the lanes whose workers are to load it, and have not. None, if another worker has it: its
/// calls wait for that one.
std::vector<const DispatchLane*> Dispatcher::lanes_that_load(
    const DispatchFunction& function) const {
  std::vector<const DispatchLane*> loading;
  for (const auto& place : places_)
    for (const auto& lane : place->lanes) {
      if (lane->codes().ready(function.number) != nullptr) return {};
      if (lane->codes().is_loading(function.number)) loading.push_back(lane.get());
    }
  return loading;
}

void Dispatcher::expire_waiting(DispatchCall& call, MonotonicTime now) {
  if (end_if_missed(call, now)) return;
  const auto loading = lanes_that_load(*call.function);
  std::optional<MonotonicTime> since;  // an executor says that it compiles it
  for (const DispatchLane* lane : loading)
    if (const auto told = lane->codes().loading(call.function->number)->compiling_since)
      since = std::min(since.value_or(*told), *told);
  if (since) {
    const auto waited =
        std::chrono::duration<double>(now - std::max(*since, call.call.accepted)).count();
    return finish_failed(call, Outcome::deadline_exceeded,
                         fmt::format("the deadline passed: it waited for a compiler for {:.1f} s, "
                                     "and the function is not compiled yet",
                                     waited));
  }
  const bool had_worker = has_ready_lane() || last_ready_ >= call.call.accepted;
  if (call.history.attempt > 0 || had_worker)
    return finish_failed(
        call, Outcome::deadline_exceeded,
        call.history.attempt > 0 ? "the deadline passed while it waited to run again"
        : !loading.empty()       ? "the deadline passed while its module was loaded: does a static "
                                   "initialiser not end?"
                                 : "the deadline passed while it waited for a free worker");
  finish_failed(
      call, Outcome::no_capacity,
      !told_.exists ? why_no_supply(call)
      : refused_ == LeaseId{}
          ? "no worker came free before the deadline; 'orchid hosts' shows who has the cores"
          : "no worker came free before the deadline; 'orchid explain " + call.call.invocation +
                "' says why");
}

std::string Dispatcher::why_no_supply(const DispatchCall& call) const {
  if (told_.missing.empty())
    return "no executor is connected; start one on this host and try again";
  const FunctionVersion& version = *call.call.version;
  return (version.hosts.needs_gpu ? "the module has kernels for GPUs only: " : "") + told_.missing +
         (version.worker_needs() != nullptr
              ? "; start a larger one, or deploy the function with other needs"
              : "");
}

/// At once where hosts are there that cannot run it. One that has just gone may come back.
void Dispatcher::fail_without_executor(MonotonicTime now) {
  if (told_.exists || !places_.empty()) return;
  if (!told_.is_elsewhere && supply_missing_since_ &&
      now - *supply_missing_since_ < options_.executor_within)
    return;
  std::vector<std::string> hopeless;  // ids: ending one may bring changes for the others
  for (const auto& [key, function] : waiting_)
    for (const DispatchCall& call : function->waiting)
      if (!told_.missing.empty() || now - call.call.accepted >= options_.executor_within)
        hopeless.push_back(call.call.invocation);
  for (const std::string& invocation : hopeless) {
    const auto found = by_invocation_.find(invocation);
    if (found == by_invocation_.end() || !found->second->is_waiting()) continue;
    DispatchCall& call = *found->second;
    if (!told_.is_elsewhere) {
      finish_failed(call, Outcome::no_capacity, why_no_supply(call));
    } else {
      CallResult result = result_of(call, Outcome::no_capacity, told_.missing);
      result.refused = ErrorCode::data_elsewhere;
      finish(call, std::move(result));
    }
  }
}

}  // namespace orchid::gateway
