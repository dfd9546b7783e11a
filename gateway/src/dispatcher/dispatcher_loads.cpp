// What lanes tell of their workers and of the code in them.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "dispatcher/dispatcher.h"
#include "foundation/log.h"

namespace orchid::gateway {

void Dispatcher::lane_claimed(DispatchLane& lane) {
  const MonotonicTime now = clock_.now();
  const auto is_another = [&](const auto& other) {
    return other.get() != &lane && other->phase() == LanePhase::ready;
  };
  DispatchPlace& place = lane.place();
  place.failed_claims = 0;
  place.closed = false;  // it was only this worker that was taken back
  if (std::ranges::none_of(place.lanes, is_another)) {
    place.since = now;
    const bool only_one = std::ranges::none_of(
        places_, [&](const auto& other) { return other.get() != &place && other->is_ready(); });
    if (only_one) ready_since_ = now;
  }
  // A replacement will most likely run what the one before it ran.
  if (lane.last_version) {
    const DispatchFunction& function = function_of(lane.last_version);
    std::optional<std::chrono::milliseconds> time_left;
    if (!function.waiting.empty()) time_left = longest_wait(function, now);
    lane.announce(function.number, lane.last_version, time_left);
  }
  look_soon(now);
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
  if (waiting_count_ > 0)
    pump();
  else
    load_coming(clock_.now());
}

void Dispatcher::lane_rejected(DispatchLane& lane, std::uint64_t number,
                               const LaneRejected& rejected) {
  // The next worker loads it when a call asks for it, and within that call's deadline.
  if (lane.last_version && lane.last_version->digest == rejected.digest) lane.last_version.reset();
  DispatchFunction* function = find_function(number);
  if (function == nullptr) return;
  // A worker that dies fails its loads too, and then it may have been the running call that killed
  // it.
  const bool too_much = rejected.code == ErrorCode::compile_limit;
  const bool transient =
      !too_much && (lane_client::is_transient(rejected.code) || !lane.flights.empty());
  std::vector<std::string> failed;  // ids: ending one may bring changes for the others
  for (DispatchCall& call : function->waiting)
    if (!transient || ++call.failed_loads >= lane_client::most_failed_loads)
      failed.push_back(call.call.invocation);
  log::warn("event=load_failed digest={} code={} message=\"{}\"", rejected.digest,
            to_string(rejected.code), rejected.message);
  for (const std::string& invocation : failed) {
    const auto found = by_invocation_.find(invocation);
    if (found != by_invocation_.end() && found->second->is_waiting())
      finish_failed(*found->second, too_much ? Outcome::limit_exceeded : Outcome::function_error,
                    (too_much ? "cannot be compiled (compile_limit): " : "cannot be loaded: ") +
                        rejected.message);
  }
  if (waiting_count_ > 0) pump();
}

}  // namespace orchid::gateway
