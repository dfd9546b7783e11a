// clusters/cluster_report.h: what GET /v1/hosts and /metrics say of clusters.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "clusters/source_conversation.h"
#include "foundation/metrics_text.h"

namespace orchid::gateway {

/// [{"source", "cluster", "backend", "state": "current", "stale" or "down", "message", "age_ms",
/// "starts", "requests_per_minute", "counters", "nodes": [{"name", "kind", "state", "why" [text],
/// "reason", "features", "cores", "cores_free", "memory_bytes", "memory_free_bytes", "gpus"
/// [{"index", "type"}], "gpus_free", "forecast": [{"from_s", "until_s", "cores", "memory_bytes",
/// "gpus"}]}]}]. Times of a forecast are seconds from now; without `until_s` it lasts. `free_cores`
/// and `free_gpus` are there when their numbers are known.
///
/// Made in parts, so that the control thread does other things in between; what is told meanwhile
/// may be in it or not. Owned by the control thread; the states outlive it.
class ClustersReport {
 public:
  explicit ClustersReport(std::vector<const ClusterState*> clusters);
  ~ClustersReport();
  ClustersReport(const ClustersReport&) = delete;
  ClustersReport& operator=(const ClustersReport&) = delete;

  /// One more part. False: there is no more.
  bool go_on(MonotonicTime now);
  [[nodiscard]] nlohmann::json take();

 private:
  struct Made;
  std::unique_ptr<Made> made_;
};

/// What /metrics says of the sources; nothing without any.
void add_metrics(MetricsText& text, const std::vector<const ClusterState*>& clusters,
                 MonotonicTime now);

}  // namespace orchid::gateway
