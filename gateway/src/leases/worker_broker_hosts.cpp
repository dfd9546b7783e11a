// worker_broker_hosts.cpp: whether hosts are connected that can run what somebody wants, and what
// there is if not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "leases/worker_broker.h"
#include "placement/shape_text.h"

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

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// Of its GPUs the first one that has a fault, in words; empty: none has.
std::string broken_gpu(const HostDescription& host) {
  const auto found =
      std::ranges::find_if(host.gpus, [](const OfferedGpu& gpu) { return !gpu.fault.empty(); });
  if (found == host.gpus.end()) return {};
  return fmt::format("GPU {} of {}: {}", found->index, host.hostname, found->fault);
}

/// "1 GPU or 4 cores": what a person would say.
std::string words_of(const placement::WorkerRequest& worker, ByteCount usual_memory) {
  std::vector<std::string> texts;
  for (placement::WorkerShape shape : worker.alternatives) {
    if (shape.memory == usual_memory) shape.memory = {};
    constexpr std::string_view one_core = "1 core, ";
    std::string text = to_string(shape);
    if (shape.gpus > 0 && text.starts_with(one_core)) text.erase(0, one_core.size());
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace

/// Whether it is large enough, were nobody else there.
bool WorkerBroker::has_shape(const Executor& executor, const placement::WorkerShape& shape) const {
  const HostDescription& host = executor.host;
  return host.cores.size() >= shape.cores && host.memory >= shape.memory &&
         (shape.gpus == 0 ||
          capacity_.count_gpus(host.boot_id, gpu_set(host), shape.gpu_model) >= shape.gpus);
}

/// One core is more than none that an executor just has to give back: it may have one again soon.
bool WorkerBroker::could_give(const Executor& executor,
                              const placement::WorkerRequest& worker) const {
  const auto fits_in = [&](const placement::WorkerShape& shape) {
    const bool plain = shape == placement::WorkerShape{.memory = options_.worker_memory};
    return plain || has_shape(executor, shape);
  };
  return fits(executor, worker) && std::ranges::any_of(worker.alternatives, fits_in);
}

bool WorkerBroker::can_give(const Executor& executor,
                            const placement::WorkerRequest& worker) const {
  return executor.state == ExecutorState::connected && could_give(executor, worker);
}

/// Some of its GPUs have a fault, and perhaps not for long.
bool WorkerBroker::may_give_soon(const Executor& executor,
                                 const placement::WorkerRequest& worker) const {
  if (executor.gpus_return_by.empty() || executor.state != ExecutorState::connected ||
      !fits(executor, worker))
    return false;
  const HostDescription& host = executor.host;
  return std::ranges::any_of(worker.alternatives, [&](const placement::WorkerShape& shape) {
    return host.cores.size() >= shape.cores && host.memory >= shape.memory &&
           gpu_set(host).size() + executor.gpus_return_by.size() >= shape.gpus;
  });
}

/// One that could be used until now is being started again. One whose fault is another than before
/// has been: that did not help.
void WorkerBroker::look_at_faults(const Executor& executor, const std::vector<OfferedGpu>& gpus,
                                  MonotonicTime now) {
  for (const OfferedGpu& gpu : gpus) {
    const auto before = std::ranges::find(executor.host.gpus, gpu.index, &OfferedGpu::index);
    if (before == executor.host.gpus.end() || before->fault == gpu.fault) continue;
    const bool is_restarted = before->fault.empty();
    hosts_.wait_for_gpu(
        executor.id, gpu.index,
        is_restarted ? std::optional(now + options_.gpus_return_within) : std::nullopt);
  }
}

Result<void> WorkerBroker::check_cluster(const std::string& name) const {
  if (name.empty() || !hosts_are_back_) return {};
  const auto names = capacity_.cluster_names();
  if (!names || names->contains(name)) return {};
  return fail(
      ErrorCode::bad_request,
      fmt::format("this gateway knows no cluster '{}', {}: 'orchid hosts' shows what there is",
                  name,
                  names->empty() ? std::string("nor any other")
                                 : fmt::format("only {}", fmt::join(*names, " and "))));
}

std::string WorkerBroker::why_no_host(const placement::WorkerRequest& worker) const {
  if (!hosts_are_back_) return {};
  const placement::WorkerRequest anything{.client_host = worker.client_host,
                                          .client_host_only = worker.client_host_only};
  std::vector<const placement::Host*> hosts;
  for (const auto& [id, executor] : hosts_.executors()) {
    if (can_give(executor, worker) || may_give_soon(executor, worker)) return {};
    if (executor.state == ExecutorState::connected && fits(executor, anything))
      hosts.push_back(capacity_.placement().description(placement::HostId(executor.host.boot_id)));
  }
  if (hosts.empty()) return {};
  const auto architecture = [](const placement::Host& host) { return host.architecture; };
  const auto kind = [](const placement::Host& host) { return to_string(host.kind); };
  if (!worker.cluster.empty()) {
    std::erase_if(hosts,
                  [&](const placement::Host* host) { return host->cluster != worker.cluster; });
    if (hosts.empty())
      return fmt::format(
          "no host of the cluster {} is connected: start a pilot or an executor there, "
          "or call with Prefer: respond-async, which waits for one",
          worker.cluster);
  }
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
  return why_too_small(worker);
}

/// Of the hosts that it could be on.
std::string WorkerBroker::why_too_small(const placement::WorkerRequest& worker) const {
  const Executor* largest = nullptr;
  std::size_t gpus = 0;
  std::string broken;
  for (const auto& [executor_id, executor] : hosts_.executors()) {
    if (executor.state != ExecutorState::connected || !fits(executor, worker)) continue;
    gpus = std::max<std::size_t>(gpus, gpu_set(executor.host).size());
    if (broken.empty()) broken = broken_gpu(executor.host);
    if (largest == nullptr || executor.host.cores.size() > largest->host.cores.size())
      largest = &executor;
  }
  if (largest == nullptr) return {};
  if (needs_gpu(worker) && gpus == 0)
    return "it needs a GPU, and no connected host offers one" +
           (broken.empty() ? "" : " that can be used: " + broken);
  std::string text = fmt::format("it needs {}; the largest host offers {}",
                                 words_of(worker, options_.worker_memory),
                                 counted(largest->host.cores.size(), "core"));
  const auto any = [&](auto wants) { return std::ranges::any_of(worker.alternatives, wants); };
  if (any([](const auto& shape) { return shape.gpus > 0; }))
    text += gpus == 0 ? " and none a GPU" + (broken.empty() ? "" : " that can be used: " + broken)
                      : fmt::format(", and the best one {}", counted(gpus, "GPU"));
  if (any([&](const auto& shape) { return shape.memory > largest->host.memory; }))
    text += fmt::format(", with {} of memory", to_string(largest->host.memory));
  return text;
}

bool WorkerBroker::is_left(const ExecutorId& executor, const LeaseTenant& tenant,
                           placement::WorkerRequest worker) const {
  const Executor* left = hosts_.find(executor);
  if (left == nullptr || !left->is_bare || !left->copies_data || left->lane_address.empty())
    return false;
  worker = dispatcher_worker(std::move(worker));
  worker.data_at = {};
  return std::ranges::any_of(hosts_.executors(), [&](const auto& entry) {
    const Executor& other = entry.second;
    return !other.host.cores.empty() && !other.grant.draining && other.copies_data &&
           other.data_memory && Capacity::serves(other, tenant) && can_give(other, worker);
  });
}

bool WorkerBroker::could_give_dispatchers(const ExecutorId& executor,
                                          placement::WorkerRequest worker) const {
  const Executor* found = hosts_.find(executor);
  if (found == nullptr) return false;
  const placement::WorkerRequest wanted = dispatcher_worker(std::move(worker));
  return could_give(*found, wanted) || may_give_soon(*found, wanted);
}

Supply WorkerBroker::supply_for(const LeaseTenant& tenant,
                                const placement::WorkerRequest& worker) const {
  if (const ExecutorId holder(worker.data_at.value());
      !holder.value().empty() && is_left(holder, tenant, worker))
    return {.missing = fmt::format("the host {} has no cores for Orchid now, and others have; the "
                                   "data is brought to one of them",
                                   capacity_.host_name(*hosts_.find(holder))),
            .is_elsewhere = true};
  Supply supply;
  supply.exists = (options_.grows && worker.data_at.value().empty()) ||
                  std::ranges::any_of(hosts_.executors(), [&](const auto& entry) {
                    return can_give(entry.second, worker) || may_give_soon(entry.second, worker);
                  });
  if (!supply.exists) supply.missing = why_no_host(worker);
  return supply;
}

}  // namespace orchid::gateway
