// utilisation/free_profile.h: how many cores of each node are free, from now on: what a backfill
// scheduler plans with.
#pragma once
#include <optional>
#include <vector>

#include "utilisation/trace.h"

namespace orchid::utilisation {

/// So many cores of a node.
struct NodeShare {
  std::uint32_t node = 0;
  std::uint32_t cores = 0;
  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};
using Shares = std::vector<NodeShare>;

/// Which nodes a job gets that does not care: as few as will do, and of these the fullest, so that
/// others stay whole. Nothing when there is not enough.
[[nodiscard]] std::optional<Shares> choose_nodes(std::vector<std::int32_t> free,
                                                 std::uint32_t cores);

/// A value. Changes at its steps only; the last one lasts.
class FreeProfile {
 public:
  FreeProfile(SimTime now, std::vector<std::int32_t> free);

  /// More is free from then on.
  void release(SimTime from, NodeShare share);
  /// Less is free; below 0 where more is taken than there is.
  void take(SimTime from, SimTime until, NodeShare share);

  struct Plan {
    SimTime start{0};
    Shares shares;
  };
  /// The earliest start before `latest` at which so many cores stay free for so long.
  [[nodiscard]] std::optional<Plan> earliest(std::uint32_t cores, SimTime length,
                                             SimTime latest) const;
  /// What stays free of each node through all of [from, until).
  [[nodiscard]] std::vector<std::int32_t> least_free(SimTime from, SimTime until) const;
  [[nodiscard]] std::int32_t least_free(std::uint32_t node, SimTime from, SimTime until) const;
  /// When less than `cores` of a node are free for the first time.
  [[nodiscard]] std::optional<SimTime> falls_below(std::uint32_t node, std::int32_t cores) const;
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }

 private:
  struct Step {
    SimTime from{0};
    std::vector<std::int32_t> free;  // by node
    std::int64_t all = 0;
  };
  /// The step that begins then, made if it has to be.
  std::size_t step_at(SimTime time);
  void add(SimTime from, std::optional<SimTime> until, std::uint32_t node, std::int32_t cores);

  std::vector<Step> steps_;  // by time
};

}  // namespace orchid::utilisation
