#include "reports/host_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace orchid::gateway {

using Json = nlohmann::json;

namespace {

/// Of one executor, in leases.
struct Leased {
  std::size_t cores = 0;
  std::uint64_t memory = 0;
  std::size_t gpus = 0;
  std::uint32_t widest = 0;  // cores of one worker
};
using LeasedByExecutor = std::map<ExecutorId, Leased>;

LeasedByExecutor count_leased(const LeaseBook& leases) {
  LeasedByExecutor counted;
  for (const auto& [id, lease] : leases.leases()) {
    Leased& one = counted[lease.executor];
    one.cores += lease.cores();
    one.memory += lease.memory.value * lease.workers;
    one.gpus += lease.gpus.size();
    one.widest = std::max(one.widest, lease.cores_per_worker);
  }
  return counted;
}

Json gpus_json(const std::vector<placement::Gpu>& gpus) {
  Json list = Json::array();
  for (const placement::Gpu& gpu : gpus)
    list.push_back({{"index", gpu.index}, {"model", gpu.model}});
  return list;
}

/// Of those that an executor offers and nobody can have now.
Json faults_json(const HostDescription& host) {
  Json list = Json::array();
  for (const OfferedGpu& gpu : host.gpus)
    if (!gpu.fault.empty()) list.push_back({{"index", gpu.index}, {"reason", gpu.fault}});
  return list;
}

bool may_see(const HostViewer& viewer, const Executor& executor) {
  return viewer.sees_all || owner_of(executor) == viewer.uid;
}

Json grant_json(const Executor& executor, const HostViewer& viewer, MonotonicTime now) {
  const GrantTerms& grant = executor.grant;
  Json json{{"source", to_string(grant.source)}, {"draining", grant.draining}};
  if (grant.users) json["users"] = to_string(*grant.users);
  // Whose job it is, and which, is none of others' business.
  if (grant.job != 0 && may_see(viewer, executor)) {
    json["job"] = grant.job;
    json["cluster"] = grant.cluster;
  }
  if (!grant.node.empty()) json["node"] = grant.node;
  if (executor.ends != MonotonicTime::max())
    json["ends_in_ms"] = std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::milliseconds>(executor.ends - now).count());
  return json;
}

Json executor_json(const Executor& executor, const Leased& leased, const HostViewer& viewer,
                   MonotonicTime now) {
  Json json{{"id", executor.id.value()},
            {"version", executor.version},
            {"state", executor.state == ExecutorState::connected ? "connected" : "lost"},
            {"grant", grant_json(executor, viewer, now)},
            {"cores", executor.host.cores},
            {"cores_leased", leased.cores},
            {"widest_worker", leased.widest},
            {"memory_bytes", executor.host.memory.value},
            {"memory_leased_bytes", leased.memory},
            {"gpus", gpu_set(executor.host).numbers()},
            {"gpus_leased", leased.gpus},
            {"gpu_faults", faults_json(executor.host)},
            {"workers_ready", executor.capacity.workers_ready},
            {"counters", executor.capacity.counters}};
  if (executor.data_memory) {
    json["data_memory_bytes"] = executor.data_memory->value;
    json["keeps_data"] = executor.keeps_data;
    json["data_used_bytes"] = executor.capacity.data_used.value_or(ByteCount{}).value;
    // Older executors do not say.
    for (const char* part : {"data_leased_bytes", "data_on_disk_bytes"})
      if (const auto told = executor.capacity.counters.find(part);
          told != executor.capacity.counters.end())
        json[part] = told->second;
  }
  json["owner"] = "another user";
  if (may_see(viewer, executor))
    json["owner"] = executor.granted_by.empty() ? executor.owner.tenant.name : executor.granted_by;
  return json;
}

/// Those that a pilot has and cannot use are told among its faults.
std::size_t gpus_of_jobs(const placement::Placement::HostView& placed,
                         const std::vector<const Executor*>& executors) {
  placement::CoreSet offered;
  for (const Executor* executor : executors)
    for (const OfferedGpu& gpu : executor->host.gpus)
      if (executor->grant.job != 0 && gpu.index < placement::CoreSet::limit)
        offered.insert(gpu.index);
  placement::CoreSet kept = placed.gpus_of_jobs;
  kept -= offered;
  return kept.size();
}

Json host_json(const std::vector<const Executor*>& executors, const Capacity& capacity) {
  const HostDescription& host = executors.front()->host;
  Json json{{"boot_id", host.boot_id},           {"hostname", host.hostname},
            {"architecture", host.architecture}, {"cpu", host.cpu},
            {"memory_bytes", host.memory.value}, {"executors", Json::array()}};
  const auto placed = capacity.placement().host(placement::HostId(host.boot_id));
  if (!placed) return json;
  json["name"] = placed->host.name;
  json["cluster"] = placed->host.cluster;
  json["kind"] = to_string(placed->host.kind);
  json["features"] = placed->host.features;
  json["drained"] = placed->drained;
  json["cores"] = placed->host.cores.size();
  json["cores_usable"] = placed->granted.size();
  json["cores_leased"] = placed->leased.size();
  json["gpus"] = gpus_json(placed->host.gpus);
  json["gpus_usable"] = placed->gpus_granted.size();
  json["gpus_leased"] = placed->gpus_leased.size();
  json["gpus_of_jobs"] = gpus_of_jobs(*placed, executors);
  if (placed->watts) json["watts"] = *placed->watts;
  return json;
}

constexpr std::size_t hosts_in_a_part = 250;

}  // namespace

struct HostsReport::Made {
  Parts parts;
  std::set<std::string> boot_ids;
  std::set<std::string>::const_iterator next;
  LeasedByExecutor leased;
  Json list = Json::array();

  void add(const std::string& boot_id, MonotonicTime now) {
    auto executors = parts.hosts.of_host(boot_id);
    if (parts.job)
      std::erase_if(executors, [&](const Executor* executor) {
        return executor->grant.job != *parts.job || !may_see(parts.viewer, *executor);
      });
    if (executors.empty()) return;
    Json host = host_json(executors, parts.capacity);
    for (const Executor* executor : executors)
      host["executors"].push_back(
          executor_json(*executor, leased[executor->id], parts.viewer, now));
    list.push_back(std::move(host));
  }
};

HostsReport::HostsReport(Parts parts) : made_(std::make_unique<Made>(parts)) {
  made_->boot_ids = parts.hosts.boot_ids();
  made_->next = made_->boot_ids.begin();
}
HostsReport::~HostsReport() = default;

/// Leases are counted with the hosts that they are on: others may open and close between the parts.
bool HostsReport::go_on(MonotonicTime now) {
  made_->leased = count_leased(made_->parts.leases);
  for (std::size_t i = 0; i < hosts_in_a_part && made_->next != made_->boot_ids.end(); ++i)
    made_->add(*made_->next++, now);
  return made_->next != made_->boot_ids.end();
}

Json HostsReport::take() { return std::move(made_->list); }

}  // namespace orchid::gateway
