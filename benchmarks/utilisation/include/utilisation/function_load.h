// utilisation/function_load.h: clients with no end of functions of 10 s, on what pilots grant, by
// way of the product's placement.
#pragma once
#include <span>
#include <unordered_map>

#include "placement/placement.h"
#include "utilisation/batch_system.h"

namespace orchid::utilisation {

struct FunctionTotals {
  std::uint64_t completed = 0;
  SimTime recovered{0};  // core time of those that completed, within the counted time
  SimTime evicted{0};    // of those that were cut off
  std::uint64_t placed = 0;
  std::uint64_t refused = 0;
};

/// A lease of one core for each place that placement finds; one function after the other in it,
/// while they may begin. Owned by the thread of its simulation.
class FunctionLoad {
 public:
  struct Options {
    ClusterShape shape;
    Span counted;
  };
  explicit FunctionLoad(const Options& options);

  /// The pilot's executor has joined.
  void join(const Pilot& pilot, SimTime now);
  /// Nothing begins in it any more.
  void drain(PilotId pilot, SimTime now);
  /// It is gone, with what runs in it; nothing happens when it had not joined.
  void leave(PilotId pilot, SimTime now);
  /// What the batch system has told of who has which cores.
  void learn(std::span<const placement::HostAllocation> allocations, SimTime now);

  [[nodiscard]] bool joined(PilotId pilot) const { return pilots_.contains(pilot); }
  [[nodiscard]] std::uint32_t cores_used(PilotId pilot) const;
  [[nodiscard]] const FunctionTotals& totals() const { return totals_; }
  [[nodiscard]] std::optional<std::string> audit() const { return placement_.audit(); }

 private:
  struct Lease {
    PilotId pilot = 0;
    SimTime first{0};  // function's begin
  };
  struct Grantor {
    placement::Grant grant;
    SimTime last_begin{0};  // of a function
    std::uint32_t cores_used = 0;
  };
  void fill(SimTime now);
  void end(const placement::Placement::Losses& losses, SimTime now);
  void count(const Lease& lease, SimTime now);

  Options options_;
  placement::Placement placement_;
  std::unordered_map<PilotId, Grantor> pilots_;
  std::unordered_map<placement::GrantId, PilotId> by_grant_;
  std::unordered_map<placement::DecisionId, Lease> leases_;
  FunctionTotals totals_;
};

[[nodiscard]] placement::HostId host_of(std::uint32_t node);

}  // namespace orchid::utilisation
