// worker_broker_hosts.cpp: whether hosts are connected that can run what somebody wants, and what
// there is if not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "leases/worker_broker.h"

namespace orchid::gateway {
namespace {

bool needs_gpu(const placement::WorkerRequest& worker) {
  return std::ranges::all_of(worker.alternatives,
                             [](const placement::WorkerShape& shape) { return shape.gpus > 0; });
}

/// Different ones, sorted.
template <typename Projection>
std::vector<std::string> values_of(const std::vector<const placement::Host*>& hosts,
                                   Projection of_host) {
  std::set<std::string> values;
  for (const placement::Host* host : hosts) values.emplace(of_host(*host));
  return {values.begin(), values.end()};
}

}  // namespace

bool WorkerBroker::can_give(const Executor& executor,
                            const placement::WorkerRequest& worker) const {
  return executor.state == ExecutorState::connected && fits(executor, worker) &&
         (!needs_gpu(worker) || !executor.host.gpus.empty());
}

std::string WorkerBroker::why_no_host(const placement::WorkerRequest& worker) const {
  const placement::WorkerRequest anything{.client_host = worker.client_host,
                                          .client_host_only = worker.client_host_only};
  std::vector<const placement::Host*> hosts;
  for (const auto& [id, executor] : hosts_.executors()) {
    if (can_give(executor, worker)) return {};
    if (executor.state == ExecutorState::connected && fits(executor, anything))
      hosts.push_back(capacity_.placement().description(placement::HostId(executor.host.boot_id)));
  }
  if (hosts.empty()) return {};
  const auto architecture = [](const placement::Host& host) { return host.architecture; };
  const auto kind = [](const placement::Host& host) { return to_string(host.kind); };
  if (worker.kind) {
    const auto kinds = values_of(hosts, kind);
    std::erase_if(hosts, [&](const placement::Host* host) { return host->kind != worker.kind; });
    if (hosts.empty())
      return fmt::format("no host of the kind {} is connected, only {}", to_string(*worker.kind),
                         fmt::join(kinds, " and "));
  }
  const auto runs_none = [&](const placement::Host* host) {
    return std::ranges::find(worker.images, host->architecture) == worker.images.end();
  };
  if (!worker.images.empty() && std::ranges::all_of(hosts, runs_none))
    return placement::no_image_text(values_of(hosts, architecture), worker.images);
  return needs_gpu(worker) ? "it needs a GPU, and no connected host offers one" : "";
}

TellSupply WorkerBroker::supply_for(HolderId id, const placement::WorkerRequest& worker) const {
  TellSupply supply{.holder = id};
  supply.exists = options_.grows || std::ranges::any_of(hosts_.executors(), [&](const auto& entry) {
                    return can_give(entry.second, worker);
                  });
  if (!supply.exists) supply.missing = why_no_host(worker);
  return supply;
}

}  // namespace orchid::gateway
