#include "clusters/cluster_report.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace orchid::gateway {
namespace {

using Json = nlohmann::json;

std::uint64_t age_ms(const ClusterState& state, MonotonicTime now) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - state.heard);
  return state.report.age_ms + static_cast<std::uint64_t>(std::max<std::int64_t>(0, since.count()));
}

std::string_view state_of(const ClusterState& state) {
  if (!state.running) return "down";
  return state.report.is_current ? "current" : "stale";
}

/// The cluster's clock, which need not be ours: what it showed with the last update, and the time
/// since that by our own. Sources report often without an update, since nothing has changed.
ClusterTime cluster_now(const ClusterState& state, MonotonicTime now) {
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(now - state.told);
  return state.inventory.time() + std::max<std::int64_t>(0, since.count());
}

/// What was told for a time on the cluster's clock, as seconds from now.
Json forecast_json(const std::vector<SourceWindow>& windows, ClusterTime now) {
  Json list = Json::array();
  for (const SourceWindow& window : windows) {
    const std::int64_t until = window.until - now;
    if (window.until != 0 && until <= 0) continue;
    Json entry{{"from_s", window.from == 0 ? 0 : std::max<std::int64_t>(0, window.from - now)},
               {"cores", window.cores},
               {"memory_bytes", window.memory.value},
               {"gpus", window.gpus}};
    if (window.until != 0) entry["until_s"] = until;
    list.push_back(std::move(entry));
  }
  return list;
}

Json node_json(const SourceNode& node) {
  Json gpus = Json::array();
  for (const SourceGpu& gpu : node.gpus) gpus.push_back({{"index", gpu.index}, {"type", gpu.type}});
  Json json{{"name", node.name},
            {"kind", to_string(node.kind)},
            {"state", to_string(node.state)},
            {"why", node.why},
            {"reason", node.reason},
            {"features", node.features},
            {"partitions", node.partitions},
            {"architecture", node.architecture},
            {"cores", node.cores_usable},
            {"cores_free", node.cores_free},
            {"threads_per_core", node.threads_per_core},
            {"memory_bytes", node.memory.value},
            {"memory_free_bytes", node.memory_free.value},
            {"gpus", std::move(gpus)},
            {"gpus_free", node.gpus_free}};
  if (node.free_cores) json["free_cores"] = to_core_text(*node.free_cores);
  if (node.free_gpus) json["free_gpus"] = to_core_text(*node.free_gpus);
  return json;
}

/// Without its nodes.
Json cluster_json(const ClusterState& state, MonotonicTime now) {
  return {{"source", state.source},
          {"cluster", state.hello.cluster},
          {"backend", state.hello.backend},
          {"state", state_of(state)},
          {"message", state.trouble},
          {"age_ms", age_ms(state, now)},
          {"starts", state.starts},
          {"requests_per_minute", state.hello.requests_per_minute},
          {"counters", state.report.counters},
          {"nodes", Json::array()}};
}

Json node_json_with_forecast(const ClusterState& state, const SourceNode& node, MonotonicTime now) {
  Json json = node_json(node);
  const auto& forecasts = state.inventory.forecasts();
  if (const auto found = forecasts.find(node.name); found != forecasts.end())
    json["forecast"] = forecast_json(found->second, cluster_now(state, now));
  return json;
}

constexpr std::size_t nodes_in_a_part = 250;

using ValueOf = std::function<double(const ClusterState&)>;

double counter_of(const ClusterState& state, const char* name) {
  const auto found = state.report.counters.find(name);
  return found == state.report.counters.end() ? 0 : static_cast<double>(found->second);
}

}  // namespace

struct ClustersReport::Made {
  std::vector<const ClusterState*> clusters;
  std::size_t told = 0;   // of these, with all their nodes
  std::string last_node;  // of the one that comes; "": none yet
  Json list = Json::array();
};

ClustersReport::ClustersReport(std::vector<const ClusterState*> clusters)
    : made_(std::make_unique<Made>()) {
  made_->clusters = std::move(clusters);
}
ClustersReport::~ClustersReport() = default;

bool ClustersReport::go_on(MonotonicTime now) {
  Made& made = *made_;
  if (made.told == made.clusters.size()) return false;
  const ClusterState& state = *made.clusters[made.told];
  if (made.list.size() == made.told) made.list.push_back(cluster_json(state, now));
  Json& nodes = made.list.back()["nodes"];
  const auto& known = state.inventory.nodes();
  auto node = made.last_node.empty() ? known.begin() : known.upper_bound(made.last_node);
  for (std::size_t i = 0; i < nodes_in_a_part && node != known.end(); ++i, ++node) {
    nodes.push_back(node_json_with_forecast(state, node->second, now));
    made.last_node = node->first;
  }
  if (node == known.end()) {
    ++made.told;
    made.last_node.clear();
  }
  return made.told < made.clusters.size();
}

Json ClustersReport::take() { return std::move(made_->list); }

void add_metrics(MetricsText& text, const std::vector<const ClusterState*>& clusters,
                 MonotonicTime now) {
  if (clusters.empty()) return;
  const auto add = [&](MetricKind kind, std::string_view name, std::string_view help,
                       const ValueOf& value) {
    text.describe(kind, name, help);
    for (const ClusterState* cluster : clusters)
      text.sample(value(*cluster),
                  {{"source", cluster->source}, {"cluster", cluster->hello.cluster}});
  };
  add(MetricKind::gauge, "orchid_source_current",
      "1 while the batch system answers the capacity source.",
      [](const ClusterState& s) { return s.running && s.report.is_current ? 1 : 0; });
  add(MetricKind::gauge, "orchid_source_age_seconds", "Time since the batch system last answered.",
      [now](const ClusterState& s) { return static_cast<double>(age_ms(s, now)) / 1000; });
  add(MetricKind::counter, "orchid_source_starts_total",
      "How often the source's process was started.",
      [](const ClusterState& s) { return static_cast<double>(s.starts); });
  add(MetricKind::counter, "orchid_source_requests_total",
      "Requests to the batch system since the source's process started.",
      [](const ClusterState& s) { return counter_of(s, "requests"); });
  add(MetricKind::gauge, "orchid_source_requests_last_minute",
      "Requests to the batch system in the last minute.",
      [](const ClusterState& s) { return counter_of(s, "requests_last_minute"); });
  add(MetricKind::gauge, "orchid_source_requests_per_minute_limit",
      "The most requests to the batch system in a minute.",
      [](const ClusterState& s) { return static_cast<double>(s.hello.requests_per_minute); });
  add(MetricKind::gauge, "orchid_source_nodes", "Nodes that the source has reported.",
      [](const ClusterState& s) { return static_cast<double>(s.inventory.nodes().size()); });
  add(MetricKind::gauge, "orchid_source_cores_free", "Cores that no batch job has.",
      [](const ClusterState& s) {
        double cores = 0;
        for (const auto& [name, node] : s.inventory.nodes()) cores += node.cores_free;
        return cores;
      });
}

}  // namespace orchid::gateway
