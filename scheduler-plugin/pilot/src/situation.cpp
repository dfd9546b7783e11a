#include "situation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "foundation/amounts.h"
#include "placement/worker_request.h"

namespace orchid::pilot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What an older gateway does not say counts as nothing.
ByteCount bytes_of(const JsonObject& o, const char* key) {
  return {o.optional().number<std::uint64_t>(key)};
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

std::string model_of(const JsonObject& host, std::uint32_t gpu) {
  for (const JsonObject& one : host.optional().objects("gpus"))
    if (one.number<std::uint32_t>("index") == gpu) return one.text("model");
  return {};
}

void join(const JsonObject& host, const JsonObject& executor, Joined& one) {
  const JsonObject any = executor.optional();
  one.cores += static_cast<std::uint32_t>(executor.numbers("cores").size());
  one.leased += any.number<std::uint32_t>("cores_leased");
  one.widest = std::max(one.widest, any.number<std::uint32_t>("widest_worker"));
  one.memory.value += bytes_of(any, "memory_bytes").value;
  one.memory_leased.value += bytes_of(any, "memory_leased_bytes").value;
  const auto gpus = any.numbers("gpus");
  one.gpus += static_cast<std::uint32_t>(gpus.size());
  one.gpus_leased += any.number<std::uint32_t>("gpus_leased");
  if (!gpus.empty()) one.gpu_model = model_of(host, gpus.front());
  one.features = host.optional().texts("features");
  if (const JsonObject grant = executor.object("grant"); grant.has("ends_in_ms"))
    one.ends_in = milliseconds(grant.number<std::int64_t>("ends_in_ms"));
}

/// Of another cluster than that of these pilots, as far as both are known: its jobs may have the
/// same numbers.
bool is_elsewhere(const JsonObject& grant, const std::string& cluster) {
  const std::string told = grant.text("cluster");
  return !cluster.empty() && !told.empty() && told != cluster;
}

std::map<std::uint64_t, Joined> joined_by_job(const JsonObject& hosts, const std::string& cluster) {
  std::map<std::uint64_t, Joined> joined;
  for (const JsonObject& host : hosts.objects("hosts"))
    for (const JsonObject& executor : host.objects("executors")) {
      const JsonObject grant = executor.object("grant").optional();
      if (grant.text("source") == "pilot" && executor.optional().text("state") == "connected" &&
          !is_elsewhere(grant, cluster))
        join(host, executor, joined[grant.number<std::uint64_t>("job")]);
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
std::uint32_t processors_of(const JsonObject& counted, const char* key, const JsonObject& node) {
  return counted.number<std::uint32_t>(key) *
         std::max(node.number<std::uint32_t>("threads_per_core", {.otherwise = 1}), 1U);
}

/// All that is free now, until something of it goes; then what of it stays longer. What is planned
/// to begin at once may be a pilot of ours that waits for it, so it does not count as taken.
void add_holes(const JsonObject& node, std::vector<Hole>& holes) {
  Hole hole{.node = node.text("name"),
            .cores = processors_of(node, "cores_free", node),
            .lasts = {},
            .memory = {},
            .gpus = node.number<std::uint32_t>("gpus_free")};
  if (node.has("memory_free_bytes")) hole.memory = bytes_of(node, "memory_free_bytes");
  bool is_first = true;
  const auto windows = node.objects("forecast");
  for (const JsonObject& window : windows) {
    if (!std::exchange(is_first, false)) {
      hole.cores = std::min(hole.cores, processors_of(window, "cores", node));
      hole.gpus =
          std::min(hole.gpus, window.number<std::uint32_t>("gpus", {.otherwise = hole.gpus}));
      if (hole.memory && window.has("memory_bytes"))
        hole.memory = std::min(*hole.memory, bytes_of(window, "memory_bytes"));
    }
    if (hole.cores == 0) return;
    hole.lasts.reset();
    if (window.has("until_s")) hole.lasts = seconds(window.number<std::int64_t>("until_s"));
    holes.push_back(hole);
  }
  if (windows.empty() && hole.cores > 0) holes.push_back(std::move(hole));
}

Node node_of(const JsonObject& node) {
  Node known{.name = node.text("name"),
             .cores = processors_of(node, "cores", node),
             .architecture = node.text("architecture"),
             .kind = placement::parse_host_kind(node.has("kind") ? node.text("kind") : "cpu"),
             .features = node.texts("features")};
  if (const ByteCount memory = bytes_of(node, "memory_bytes"); memory.value != 0)
    known.memory = memory;
  for (const JsonObject& gpu : node.objects("gpus")) known.gpus.push_back(gpu.text("type"));
  return known;
}

/// Of one row of the demand. What an older gateway does not say constrains nothing.
class ConstraintReader {
 public:
  explicit ConstraintReader(const JsonObject& row)
      : row_(row.optional()), constraints_(row_.object("constraints")) {}
  void operator()(const char* name, std::string& text) const { text = constraints_.text(name); }
  void operator()(const char* name, std::vector<std::string>& names) const {
    names = constraints_.texts(name);
  }
  void operator()(const char* name, std::optional<placement::HostKind>& kind) const {
    kind = placement::parse_host_kind(constraints_.text(name));
  }
  void operator()(const char* name, milliseconds& time) const {
    time = milliseconds(row_.number<std::int64_t>(name));
  }
  void operator()(const char*, std::optional<double>&) const {}  // no gateway tells it

 private:
  JsonObject row_;
  JsonObject constraints_;
};

placement::WorkerDemand row_of(const JsonObject& row) {
  placement::WorkerDemand demand{.workers = row.optional().number<std::uint32_t>("workers"),
                                 .worker = {.alternatives = {}}};
  for (const JsonObject& told : row.objects("alternatives")) {
    const JsonObject shape = told.optional();
    demand.worker.alternatives.push_back(
        {.cores = std::max(shape.number<std::uint32_t>("cores", {.otherwise = 1}), 1U),
         .memory = bytes_of(shape, "memory_bytes"),
         .gpus = shape.number<std::uint32_t>("gpus"),
         .gpu_model = shape.text("gpu_model")});
  }
  placement::visit_constraints(demand.worker, ConstraintReader(row));
  return demand;
}

std::vector<placement::WorkerDemand> demand_of(const JsonObject& told) {
  std::vector<placement::WorkerDemand> demand;
  if (told.has("wanted")) {
    for (const JsonObject& row : told.objects("wanted")) {
      auto wanted = row_of(row);
      if (!wanted.worker.alternatives.empty()) demand.push_back(std::move(wanted));
    }
    return demand;
  }
  // An older gateway tells only their cores.
  const auto cores = std::min<std::uint64_t>(cores_wanted(told), 1U << 30);
  if (cores > 0) demand.push_back({.workers = static_cast<std::uint32_t>(cores)});
  return demand;
}

/// What is wanted in another cluster is for the pilots of that one. All nodes of pilots are in one
/// cluster, so that the rest of the demand need not name it.
void leave_to_others(std::vector<placement::WorkerDemand>& demand, const std::string& cluster) {
  std::erase_if(demand, [&](const placement::WorkerDemand& one) {
    return !cluster.empty() && !one.worker.cluster.empty() && one.worker.cluster != cluster;
  });
  for (placement::WorkerDemand& one : demand) one.worker.cluster.clear();
}

/// In one of them, as far as anybody says.
bool is_in(const JsonObject& node, const std::vector<std::string>& wanted) {
  const auto partitions = node.texts("partitions");
  return wanted.empty() || partitions.empty() ||
         std::ranges::find_first_of(partitions, wanted) != partitions.end();
}

}  // namespace

std::uint64_t cores_wanted(const JsonObject& demand) {
  return demand.optional().number<std::uint64_t>("cores_wanted");
}

Result<Situation> situation_of(std::string_view hosts, const std::vector<PilotJob>& jobs,
                               const PilotDestination& destination, MonotonicTime now) {
  const JsonDocument document(hosts, {.subject = "the gateway's answer to /v1/hosts"});
  const JsonObject told = document.root();
  Situation situation;
  situation.demand = demand_of(told.object("demand"));
  leave_to_others(situation.demand, destination.cluster);
  const auto joined = joined_by_job(told, destination.cluster);
  for (const PilotJob& job : jobs)
    if (!job.has_ended()) situation.pilots.push_back(pilot_of(job, joined, now));
  for (const JsonObject& cluster : told.optional().objects("clusters")) {
    if (!destination.cluster.empty() && cluster.text("cluster") != destination.cluster) continue;
    if (cluster.text("state") != "current") continue;
    if (!situation.holes) {
      situation.holes.emplace();
      situation.nodes.emplace();
    }
    for (const JsonObject& node : cluster.objects("nodes")) {
      if (!is_in(node, destination.partitions)) continue;
      situation.nodes->push_back(node_of(node));
      if (node.text("state") != "unusable") add_holes(node, *situation.holes);
    }
  }
  return document.finish(std::move(situation));
}

}  // namespace orchid::pilot
