// clusters/cluster_report.h: what GET /v1/hosts and /metrics say of clusters.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "clusters/source_conversation.h"

namespace orchid::gateway {

/// [{"source", "cluster", "backend", "state": "current", "stale" or "down", "message", "age_ms",
/// "starts", "requests_per_minute", "counters", "nodes": [{"name", "kind", "state", "why" [text],
/// "reason", "features", "cores", "cores_free", "memory_bytes", "memory_free_bytes", "gpus"
/// [{"index", "type"}], "gpus_free", "forecast": [{"from_s", "until_s", "cores", "memory_bytes",
/// "gpus"}]}]}]. Times of a forecast are seconds from now; without `until_s` it lasts. `free_cores`
/// and `free_gpus` are there when their numbers are known.
[[nodiscard]] nlohmann::json clusters_json(const std::vector<const ClusterState*>& clusters,
                                           MonotonicTime now);

/// Prometheus text; empty without sources.
[[nodiscard]] std::string clusters_metrics(const std::vector<const ClusterState*>& clusters,
                                           MonotonicTime now);

}  // namespace orchid::gateway
