// utilisation/core_ledger.h: who has which core, and how long cores were without a batch job.
//
// Invariant: a core of a node is idle, a batch job's, or a pilot's.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "placement/core_set.h"
#include "utilisation/free_profile.h"

namespace orchid::utilisation {

using placement::CoreSet;

/// Time in which something is counted: without the filling of the empty cluster.
struct Span {
  SimTime from{0};
  SimTime until{0};
  [[nodiscard]] SimTime within(SimTime begin, SimTime end) const {
    const SimTime length = std::min(end, until) - std::max(begin, from);
    return std::max(length, SimTime(0));
  }
};

/// What the cores had without batch jobs. A window is a core's time between two batch jobs.
struct IdleTime {
  SimTime whole{0};  // of all cores
  std::uint64_t windows = 0;
  std::uint64_t under_ten_minutes = 0;
  std::uint64_t under_half_an_hour = 0;
  /// Usable by functions for who knows all windows: see `usable`.
  SimTime oracle{0};
};

/// What of a window functions can fill, when everything is ready the moment that `start_up` after
/// its beginning has passed, the last function ends with the window, and nothing is ever lost.
[[nodiscard]] SimTime usable(SimTime window, SimTime start_up, SimTime function);

class CoreLedger {
 public:
  struct Options {
    ClusterShape shape;
    Span counted;
    SimTime start_up{0};
    SimTime function{0};
  };
  explicit CoreLedger(Options options);

  [[nodiscard]] const CoreSet& idle(std::uint32_t node) const { return nodes_[node].idle; }
  [[nodiscard]] const CoreSet& batch(std::uint32_t node) const { return nodes_[node].batch; }
  [[nodiscard]] const CoreSet& pilots(std::uint32_t node) const { return nodes_[node].pilots; }
  /// The lowest idle ones; there are so many.
  CoreSet give_to_batch(NodeShare share, SimTime now);
  CoreSet give_to_pilot(NodeShare share);
  void take_from_batch(std::uint32_t node, const CoreSet& cores, SimTime now);
  void take_from_pilot(std::uint32_t node, const CoreSet& cores);
  /// Ends all windows.
  void finish(SimTime now);

  [[nodiscard]] const IdleTime& idle_time() const { return idle_time_; }
  /// Nothing, or what is not as it should be.
  [[nodiscard]] std::optional<std::string> audit() const;

 private:
  struct Node {
    CoreSet idle;
    CoreSet batch;
    CoreSet pilots;
    std::vector<SimTime> free_since;  // by core: of batch jobs
  };
  void end_window(SimTime from, SimTime until);

  Options options_;
  std::vector<Node> nodes_;
  IdleTime idle_time_;
};

}  // namespace orchid::utilisation
