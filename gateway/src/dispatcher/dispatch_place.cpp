#include "dispatcher/dispatch_place.h"

#include <algorithm>

namespace orchid::gateway {

DispatchLane* DispatchPlace::lane_for(std::uint64_t function) const {
  if (!apart_) return lanes.empty() ? nullptr : lanes.front().get();
  DispatchLane* undecided = nullptr;
  for (const auto& lane : lanes) {
    if (lane->module == function) return lane.get();
    if (lane->module == 0) undecided = lane.get();
  }
  return undecided;
}

DispatchLane* DispatchPlace::busy() const {
  return running_ != nullptr && !running_->flights.empty() ? running_ : nullptr;
}

bool DispatchPlace::is_ready() const {
  return std::ranges::any_of(lanes,
                             [](const auto& lane) { return lane->phase() == LanePhase::ready; });
}

bool DispatchPlace::is_loading(std::uint64_t function) const {
  return std::ranges::any_of(lanes, [&](const auto& lane) {
    return lane->is_coming() ? lane->module == function : lane->codes().is_loading(function);
  });
}

bool DispatchPlace::has_loaded(std::uint64_t function) const {
  return std::ranges::any_of(
      lanes, [&](const auto& lane) { return lane->codes().ready(function) != nullptr; });
}

std::unique_ptr<DispatchLane> DispatchPlace::take_out(const DispatchLane& lane) {
  if (running_ == &lane) running_ = nullptr;
  const auto found =
      std::ranges::find_if(lanes, [&](const auto& owned) { return owned.get() == &lane; });
  if (found == lanes.end()) return nullptr;
  std::unique_ptr<DispatchLane> taken = std::move(*found);
  lanes.erase(found);
  return taken;
}

}  // namespace orchid::gateway
