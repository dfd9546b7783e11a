// dispatcher/dispatch_place.h: one lease of the gateway's: the place of one running call, with the
// workers that are kept there. One of them runs, and the others sleep.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dispatcher/dispatch_lane.h"
#include "foundation/clock.h"
#include "leases/worker_supply.h"
#include "protocol/lane_protocol.h"

namespace orchid::gateway {

/// Owned by its dispatcher. An executor that speaks lane protocol 2 gives it a worker for each
/// module; an older one has one worker for all of them.
class DispatchPlace {
 public:
  DispatchPlace(WorkerGrant grant, MonotonicTime now)
      : idle_since(now),
        grant_(std::move(grant)),
        apart_(grant_.lane_protocol >= apart_lane_protocol) {}
  DispatchPlace(const DispatchPlace&) = delete;
  DispatchPlace& operator=(const DispatchPlace&) = delete;

  [[nodiscard]] const WorkerGrant& grant() const { return grant_; }
  /// No worker of it runs code of two modules.
  [[nodiscard]] bool is_apart() const { return apart_; }
  /// The lane for that module, or one that can become it; null: there is none.
  [[nodiscard]] DispatchLane* lane_for(std::uint64_t function) const;
  /// The one whose worker may run now; null: none.
  [[nodiscard]] DispatchLane* busy() const;
  [[nodiscard]] bool is_idle() const { return busy() == nullptr; }
  [[nodiscard]] bool is_ready() const;
  /// Whether a module is on its way into one of its workers.
  [[nodiscard]] bool is_loading(std::uint64_t function) const;
  [[nodiscard]] bool has_loaded(std::uint64_t function) const;
  /// `wanted`: whether a call waits for that module.
  template <typename Wanted>
  [[nodiscard]] bool loads_any(Wanted wanted) const {
    for (const auto& lane : lanes)
      if (lane->is_coming() ? wanted(lane->module) : lane->codes().loads_any(wanted)) return true;
    return false;
  }
  /// Of the lanes that can go for another module the one that was used longest ago; null: none.
  template <typename Wanted>
  [[nodiscard]] DispatchLane* least_recently_used(Wanted wanted) const {
    DispatchLane* oldest = nullptr;
    for (const auto& lane : lanes) {
      if (!lane->flights.empty()) continue;
      if (lane->is_coming() ? wanted(lane->module) : lane->codes().loads_any(wanted)) continue;
      if (oldest == nullptr || lane->idle_since < oldest->idle_since) oldest = lane.get();
    }
    return oldest;
  }
  [[nodiscard]] bool is_full() const { return lanes.size() >= warm_workers_per_place; }
  /// True: another one ran before.
  bool ran(DispatchLane& lane) {
    const DispatchLane* before = std::exchange(running_, &lane);
    return before != nullptr && before != &lane;
  }
  /// Null: it is not one of them.
  [[nodiscard]] std::unique_ptr<DispatchLane> take_out(const DispatchLane& lane);

  std::vector<std::unique_ptr<DispatchLane>> lanes;
  MonotonicTime since;                // when its first worker became ready
  MonotonicTime idle_since;           // when a call last ended here
  MonotonicTime claims_again{};       // after a claim that failed
  unsigned failed_claims = 0;         // one after the other
  MonotonicTime data_missed_since{};  // the first time of several one after the other
  MonotonicTime data_missed{};        // that its executor lacked what a call is given: last
  bool suspect = false;               // its executor does not answer the gateway
  bool leaving = false;               // to be given back when it is idle
  bool closed = false;                // its cores are being taken back
  /// For whose calls it was taken, if they come by then; null: for calls that were there.
  std::shared_ptr<const FunctionVersion> ahead_of;
  MonotonicTime ahead_until{};

 private:
  WorkerGrant grant_;
  bool apart_;
  DispatchLane* running_ = nullptr;  // the last that did
};

}  // namespace orchid::gateway
