// utilisation/trace.h: the jobs of a cluster, as their users submit them.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

namespace orchid::utilisation {

/// Since the trace's beginning.
using SimTime = std::chrono::milliseconds;

/// A value.
struct TraceJob {
  std::uint64_t id = 0;
  SimTime submitted{0};
  std::uint32_t cores = 1;
  SimTime runtime{0};  // how long it takes, if nobody ends it
  SimTime limit{0};    // how long its user says that it takes at most
  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct ClusterShape {
  std::uint32_t nodes = 0;
  std::uint32_t cores_per_node = 0;
  [[nodiscard]] std::uint32_t cores() const { return nodes * cores_per_node; }
  friend bool operator==(const ClusterShape&, const ClusterShape&) = default;
};

/// Jobs in the order of their submission.
struct Trace {
  std::vector<TraceJob> jobs;
  SimTime end{0};  // nothing is submitted from then on
};

}  // namespace orchid::utilisation
