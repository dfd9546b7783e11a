#include "situation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "foundation/amounts.h"
#include "placement/worker_request.h"

namespace orchid::pilot {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// What an older gateway does not say counts as nothing.
ByteCount bytes_of(const json& document, const char* key) {
  return {document.value(key, std::uint64_t{0})};
}

/// A pilot's executors, which are on one node or on several.
struct Joined {
  std::uint32_t cores = 0;
  std::uint32_t leased = 0;
  std::uint32_t widest = 0;
  ByteCount memory;
  ByteCount memory_leased;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_leased = 0;
  std::string gpu_model;
  std::vector<std::string> features;
  std::optional<milliseconds> ends_in;
};

std::string model_of(const json& host, std::uint32_t gpu) {
  const json known = host.value("gpus", json::array());
  for (const json& one : known)
    if (one.value("index", 0U) == gpu) return one.value("model", "");
  return {};
}

std::map<std::uint64_t, Joined> joined_by_job(const json& hosts) {
  std::map<std::uint64_t, Joined> joined;
  for (const json& host : hosts.at("hosts"))
    for (const json& executor : host.at("executors")) {
      const json& grant = executor.at("grant");
      if (grant.value("source", "") != "pilot" || executor.value("state", "") != "connected")
        continue;
      Joined& one = joined[grant.value("job", std::uint64_t{0})];
      one.cores += static_cast<std::uint32_t>(executor.at("cores").size());
      one.leased += executor.value("cores_leased", 0U);
      one.widest = std::max(one.widest, executor.value("widest_worker", 0U));
      one.memory.value += bytes_of(executor, "memory_bytes").value;
      one.memory_leased.value += bytes_of(executor, "memory_leased_bytes").value;
      const auto gpus = executor.value("gpus", std::vector<std::uint32_t>{});
      one.gpus += static_cast<std::uint32_t>(gpus.size());
      one.gpus_leased += executor.value("gpus_leased", 0U);
      if (!gpus.empty()) one.gpu_model = model_of(host, gpus.front());
      one.features = host.value("features", std::vector<std::string>{});
      if (grant.contains("ends_in_ms")) one.ends_in = milliseconds(grant["ends_in_ms"].get<long>());
    }
  return joined;
}

Pilot pilot_of(const PilotJob& job, const std::map<std::uint64_t, Joined>& joined,
               MonotonicTime now) {
  Pilot one{.job = job.job,
            .cores = job.cpus,
            .runs = !job.waits(),
            .ends = {},
            .node = job.waits() ? "" : job.reason,
            .no_room = job.waits() && job.reason == "(Resources)",
            .suspended = job.state == "SUSPENDED" || job.state == "STOPPED",
            .configuring = job.state == "CONFIGURING"};
  if (const auto left = parse_duration(job.left); one.runs && left)
    one.ends = now + std::chrono::duration_cast<milliseconds>(*left);
  if (const auto found = joined.find(job.job); found != joined.end()) {
    one.joined = true;
    one.cores = found->second.cores;
    one.cores_used = found->second.leased;
    one.widest_worker = found->second.widest;
    if (found->second.memory.value != 0) one.memory = found->second.memory;
    one.memory_used = found->second.memory_leased;
    one.gpus = found->second.gpus;
    one.gpus_used = found->second.gpus_leased;
    one.gpu_model = found->second.gpu_model;
    one.features = found->second.features;
    if (found->second.ends_in) one.ends = now + *found->second.ends_in;
  }
  return one;
}

/// Of a document that counts cores: the processors that these are. Pilots ask for processors, and
/// so many are what their executors have.
std::uint32_t processors_of(const json& counted, const char* key, const json& node) {
  return counted.value(key, 0U) * std::max(node.value("threads_per_core", 1U), 1U);
}

/// All that is free now, until something of it goes; then what of it stays longer. What is planned
/// to begin at once may be a pilot of ours that waits for it, so it does not count as taken.
void add_holes(const json& node, std::vector<Hole>& holes) {
  const std::string name = node.value("name", "");
  Hole hole{.node = name,
            .cores = processors_of(node, "cores_free", node),
            .lasts = {},
            .memory = {},
            .gpus = node.value("gpus_free", 0U)};
  if (node.contains("memory_free_bytes")) hole.memory = bytes_of(node, "memory_free_bytes");
  const json windows = node.value("forecast", json::array());
  for (const json& window : windows) {
    if (&window != &windows.front()) {
      hole.cores = std::min(hole.cores, processors_of(window, "cores", node));
      hole.gpus = std::min(hole.gpus, window.value("gpus", hole.gpus));
      if (hole.memory && window.contains("memory_bytes"))
        hole.memory = std::min(*hole.memory, bytes_of(window, "memory_bytes"));
    }
    if (hole.cores == 0) return;
    hole.lasts.reset();
    if (window.contains("until_s")) hole.lasts = seconds(window["until_s"].get<long>());
    holes.push_back(hole);
  }
  if (windows.empty() && hole.cores > 0) holes.push_back(std::move(hole));
}

Node node_of(const json& node) {
  Node known{.name = node.value("name", ""),
             .cores = processors_of(node, "cores", node),
             .architecture = node.value("architecture", ""),
             .kind = placement::parse_host_kind(node.value("kind", "cpu")),
             .features = node.value("features", std::vector<std::string>{})};
  if (const ByteCount memory = bytes_of(node, "memory_bytes"); memory.value != 0)
    known.memory = memory;
  const json gpus = node.value("gpus", json::array());
  for (const json& gpu : gpus) known.gpus.push_back(gpu.value("type", ""));
  return known;
}

/// Of one row of the demand. What an older gateway does not say constrains nothing.
class ConstraintReader {
 public:
  explicit ConstraintReader(const json& row)
      : row_(row), constraints_(row.value("constraints", json::object())) {}
  void operator()(const char* name, std::string& text) const {
    text = constraints_.value(name, "");
  }
  void operator()(const char* name, std::vector<std::string>& names) const {
    names = constraints_.value(name, std::vector<std::string>{});
  }
  void operator()(const char* name, std::optional<placement::HostKind>& kind) const {
    kind = placement::parse_host_kind(constraints_.value(name, ""));
  }
  void operator()(const char* name, milliseconds& time) const {
    time = milliseconds(row_.value(name, 0L));
  }
  void operator()(const char*, std::optional<double>&) const {}  // no gateway tells it

 private:
  const json& row_;
  json constraints_;
};

placement::WorkerDemand row_of(const json& row) {
  placement::WorkerDemand demand{.workers = row.value("workers", 0U),
                                 .worker = {.alternatives = {}}};
  const json& alternatives = row.at("alternatives");
  for (const json& shape : alternatives)
    demand.worker.alternatives.push_back({.cores = std::max(shape.value("cores", 1U), 1U),
                                          .memory = bytes_of(shape, "memory_bytes"),
                                          .gpus = shape.value("gpus", 0U),
                                          .gpu_model = shape.value("gpu_model", "")});
  placement::visit_constraints(demand.worker, ConstraintReader(row));
  return demand;
}

std::vector<placement::WorkerDemand> demand_of(const json& told) {
  std::vector<placement::WorkerDemand> demand;
  if (told.contains("wanted")) {
    for (const json& row : told["wanted"])
      if (!row.at("alternatives").empty()) demand.push_back(row_of(row));
    return demand;
  }
  // An older gateway tells only their cores.
  const auto cores =
      std::min<std::uint64_t>(told.value("cores_wanted", std::uint64_t{0}), 1U << 30);
  if (cores > 0) demand.push_back({.workers = static_cast<std::uint32_t>(cores)});
  return demand;
}

/// In one of them, as far as anybody says.
bool is_in(const json& node, const std::vector<std::string>& wanted) {
  const auto partitions = node.value("partitions", std::vector<std::string>{});
  return wanted.empty() || partitions.empty() ||
         std::ranges::find_first_of(partitions, wanted) != partitions.end();
}

}  // namespace

Situation situation_of(const json& hosts, const std::vector<PilotJob>& jobs,
                       const PilotDestination& destination, MonotonicTime now) {
  Situation situation;
  situation.demand = demand_of(hosts.at("demand"));
  const auto joined = joined_by_job(hosts);
  for (const PilotJob& job : jobs)
    if (!job.has_ended()) situation.pilots.push_back(pilot_of(job, joined, now));
  for (const json& cluster : hosts.value("clusters", json::array())) {
    const std::string name = cluster.value("cluster", "");
    if (!destination.cluster.empty() && name != destination.cluster) continue;
    if (cluster.value("state", "") != "current") continue;
    if (!situation.holes) {
      situation.holes.emplace();
      situation.nodes.emplace();
    }
    for (const json& node : cluster.at("nodes")) {
      if (!is_in(node, destination.partitions)) continue;
      situation.nodes->push_back(node_of(node));
      if (node.value("state", "") != "unusable") add_holes(node, *situation.holes);
    }
  }
  return situation;
}

}  // namespace orchid::pilot
