// The data objects that calls are given: a worker maps them before its call is sent.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "dispatcher/dispatcher.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds data_patience{1};

}  // namespace

/// Null: none waits, or it is given none.
const CallData* Dispatcher::data_of_first(const DispatchFunction& function) {
  return function.waiting.empty() ? nullptr : function.waiting.front().call.data.get();
}

void Dispatcher::lane_attached(DispatchLane& /*lane*/) {
  if (waiting_count_ > 0) pump();
}

/// An executor that ends drops its data first, and one that gives cores back ends their workers:
/// within moments it is known, and whoever placed the call there will know better. True: that may
/// still be so.
bool Dispatcher::may_be_ending(DispatchPlace& place, MonotonicTime now) {
  if (now - place.data_missed >= 2 * data_patience) place.data_missed_since = now;
  place.data_missed = now;
  return now - place.data_missed_since < data_patience;
}

/// The calls that name it cannot run, unless the worker was to blame.
void Dispatcher::lane_not_attached(DispatchLane& lane, const LaneNotAttached& refused) {
  const bool transient = lane_client::is_transient(refused.code);
  const MonotonicTime now = clock_.now();
  const bool may_be_lost = transient || refused.code == ErrorCode::data_lost;
  const bool waits = may_be_lost && may_be_ending(lane.place(), now);
  bool at_once = !waits;
  std::vector<std::string> failed;  // ids: ending one may bring changes for the others
  for (const auto& [key, function] : waiting_)
    for (DispatchCall& call : function->waiting) {
      if (call.call.data == nullptr) continue;
      if (std::ranges::find(call.call.data->ids, refused.data) == call.call.data->ids.end())
        continue;
      if (transient && ++call.failed_loads < lane_client::most_failed_loads)
        at_once = true;
      else if (waits)
        call.missed = {.what = refused, .at = now};
      else
        failed.push_back(call.call.invocation);
    }
  for (const std::string& invocation : failed) {
    const auto found = by_invocation_.find(invocation);
    if (found != by_invocation_.end() && found->second->is_waiting())
      finish_not_given(*found->second, refused);
  }
  // Else it is asked for again at the next look.
  if (waiting_count_ > 0 && at_once) pump();
  look_soon(now);
}

/// False: what its executor lacked a while ago is not why it waits.
bool Dispatcher::end_if_missed(DispatchCall& call, MonotonicTime now) {
  if (!call.missed || now - call.missed->at >= data_patience) return false;
  finish_not_given(call, call.missed->what);
  return true;
}

/// It waits, and is given that object.
void Dispatcher::finish_not_given(DispatchCall& call, const LaneNotAttached& refused) {
  const CallData& data = *call.call.data;
  const auto place = std::ranges::find(data.ids, refused.data) - data.ids.begin();
  CallResult result = result_of(
      call, lane_client::is_transient(refused.code) ? Outcome::worker_lost : Outcome::bad_request,
      fmt::format("'{}' was on the host {}, and its worker cannot be given it: {}",
                  data.labels[static_cast<std::size_t>(place)], data.host, refused.message));
  result.node = data.host;
  result.refused = refused.code;
  finish(call, std::move(result));
}

/// It has not run: an object was unmapped while the call was on its way.
void Dispatcher::needs_data(DispatchLane& lane, DispatchCall& call) {
  lane.forget(*call.call.data);
  if (lane_client::runs_again_without_data(call.history)) return requeue(call);
  CallResult result = result_of(call, Outcome::worker_lost,
                                "its workers lose the data that it is given again and again");
  finish(call, std::move(result));
}

}  // namespace orchid::gateway
