#include "hosts/host_report.h"

#include <nlohmann/json.hpp>

namespace orchid::gateway {

using Json = nlohmann::json;

namespace {

std::size_t leased_cores(const ExecutorId& executor, const LeaseBook& leases) {
  std::size_t cores = 0;
  for (const auto& [id, lease] : leases.leases())
    if (lease.executor == executor) cores += lease.cores();
  return cores;
}

Json executor_json(const Executor& executor, const LeaseBook& leases) {
  return {{"id", executor.id.value()},
          {"owner", executor.owner.tenant.name},
          {"version", executor.version},
          {"state", executor.state == ExecutorState::connected ? "connected" : "lost"},
          {"cores", executor.host.cores},
          {"cores_leased", leased_cores(executor.id, leases)},
          {"workers_ready", executor.capacity.workers_ready},
          {"counters", executor.capacity.counters}};
}

}  // namespace

std::string hosts_json(const HostBook& hosts, const LeaseBook& leases) {
  std::map<std::string, Json> by_boot_id;
  for (const auto& [id, executor] : hosts.executors()) {
    const HostDescription& host = executor.host;
    Json& entry = by_boot_id[host.boot_id];
    if (entry.is_null())
      entry = {{"boot_id", host.boot_id},
               {"hostname", host.hostname},
               {"architecture", host.architecture},
               {"cpu", host.cpu},
               {"memory_bytes", host.memory.value},
               {"cores", hosts.host_cores(host.boot_id)},
               {"cores_leased", leases.cores_taken(host.boot_id)},
               {"executors", Json::array()}};
    entry["executors"].push_back(executor_json(executor, leases));
  }
  Json list = Json::array();
  for (auto& [boot_id, entry] : by_boot_id) list.push_back(std::move(entry));
  return Json{{"hosts", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace orchid::gateway
