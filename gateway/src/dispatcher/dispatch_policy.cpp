#include "dispatcher/dispatch_policy.h"

#include <algorithm>
#include <optional>

namespace orchid::gateway {
namespace {

template <typename Better>
std::optional<std::size_t> best(std::span<const LaneView> lanes, Better better) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (better(lanes[i], found ? &lanes[*found] : nullptr)) found = i;
  return found;
}

std::optional<std::size_t> idle_and_loaded(std::span<const LaneView> lanes, const CallView& call) {
  return best(lanes, [&](const LaneView& lane, const LaneView* current) {
    if (!lane.usable || !lane.loaded || lane.in_flight != 0) return false;
    if (call.needs_clear_lane && !lane.clear) return false;
    // Another call waits for this worker, and came first. But a silent executor may never load it.
    if (lane.promised && lane.may_load && !call.is_short) return false;
    return current == nullptr || (lane.clear && !current->clear);
  });
}

std::optional<std::size_t> flowing(std::span<const LaneView> lanes, const CallView& call) {
  if (!call.is_short || call.needs_clear_lane) return std::nullopt;
  return best(lanes, [](const LaneView& lane, const LaneView* current) {
    if (!lane.usable || !lane.loaded || !lane.flows || lane.in_flight >= deepest_pipeline)
      return false;
    if (lane.awaited && lane.in_flight != 0) return false;
    return current == nullptr || lane.backlog < current->backlog;
  });
}

/// Idle workers only: a busy one would load after its call, and that may take long.
std::optional<std::size_t> place_to_load(std::span<const LaneView> lanes, const CallView& call) {
  const auto loading = static_cast<std::size_t>(std::ranges::count_if(
      lanes, [](const LaneView& lane) { return lane.loading && lane.in_flight == 0; }));
  const std::size_t needed = call.is_short ? 1 : call.waiting;
  if (loading >= needed) return std::nullopt;
  return best(lanes, [&](const LaneView& lane, const LaneView* current) {
    if (!lane.usable || lane.loaded || lane.loading || !lane.may_load || lane.in_flight != 0)
      return false;
    return current == nullptr || (!lane.loading_other && current->loading_other);
  });
}

}  // namespace

Choice choose_lane(std::span<const LaneView> lanes, const CallView& call) {
  if (const auto lane = idle_and_loaded(lanes, call)) return {Choice::Kind::send, *lane};
  const auto behind = flowing(lanes, call);
  if (behind && lanes[*behind].backlog < comfortable_backlog) return {Choice::Kind::send, *behind};
  // A new worker costs more than such a wait.
  if (call.is_short && !call.needs_clear_lane &&
      std::ranges::any_of(lanes, [](const LaneView& lane) { return lane.usable && lane.soon; }))
    return {};
  if (const auto lane = place_to_load(lanes, call)) return {Choice::Kind::load, *lane};
  if (behind) return {Choice::Kind::send, *behind};
  return {};
}

unsigned workers_wanted(const Demand& demand, unsigned limit) {
  const auto work = static_cast<std::size_t>(std::max<std::int64_t>(demand.short_work.count(), 0));
  const auto unit = static_cast<std::size_t>(comfortable_backlog.count());
  const std::size_t for_short =
      demand.short_calls == 0
          ? 0
          : std::clamp<std::size_t>((work + unit - 1) / unit, 1, demand.short_calls);
  const std::size_t wanted = demand.long_calls + for_short;
  if (wanted == 0) return 0;
  return static_cast<unsigned>(std::min<std::size_t>(wanted + demand.useless_workers, limit));
}

}  // namespace orchid::gateway
