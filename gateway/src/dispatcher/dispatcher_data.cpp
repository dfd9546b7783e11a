// The data objects that calls are given: a worker maps them before its call is sent.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "dispatcher/dispatcher.h"

namespace orchid::gateway {

/// Null: none waits, or it is given none.
const CallData* Dispatcher::data_of_first(const DispatchFunction& function) {
  return function.waiting.empty() ? nullptr : function.waiting.front().call.data.get();
}

void Dispatcher::lane_attached(DispatchLane& /*lane*/) {
  if (waiting_count_ > 0) pump();
}

/// The calls that name it cannot run, unless the worker was to blame.
void Dispatcher::lane_not_attached(DispatchLane& lane, const LaneNotAttached& refused) {
  const bool transient = lane_client::is_transient(refused.code);
  std::vector<std::string> failed;  // ids: ending one may bring changes for the others
  for (const auto& [key, function] : waiting_)
    for (DispatchCall& call : function->waiting) {
      if (call.call.data == nullptr) continue;
      if (std::ranges::find(call.call.data->ids, refused.data) == call.call.data->ids.end())
        continue;
      if (!transient || ++call.failed_loads >= lane_client::most_failed_loads)
        failed.push_back(call.call.invocation);
    }
  const std::string host = lane.grant().node;
  for (const std::string& invocation : failed) {
    const auto found = by_invocation_.find(invocation);
    if (found == by_invocation_.end() || !found->second->is_waiting()) continue;
    DispatchCall& call = *found->second;
    const CallData& data = *call.call.data;
    const auto place = std::ranges::find(data.ids, refused.data) - data.ids.begin();
    CallResult result = result_of(
        call, transient ? Outcome::worker_lost : Outcome::bad_request,
        fmt::format("'{}' was on the host {}, and its worker cannot be given it: {}",
                    data.labels[static_cast<std::size_t>(place)], data.host, refused.message));
    result.node = host;
    result.refused = refused.code;
    finish(call, std::move(result));
  }
  if (waiting_count_ > 0) pump();
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
