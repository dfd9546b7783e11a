#include "clusters/cluster_view.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "hosts/capacity.h"

namespace orchid::gateway {
namespace {

placement::JobState state_of(SourceJobState state) {
  if (state == SourceJobState::suspended) return placement::JobState::suspended;
  if (state == SourceJobState::completing) return placement::JobState::completing;
  return placement::JobState::running;
}

/// Numbers of the operating system for the batch system's cores. Where an executor has not told how
/// they follow each other, or the batch system counts other cores than the machine has: as on most
/// machines, whose second threads come last.
placement::CoreSet system_cores(const SourceNode& node, const CoreList& cores,
                                std::span<const std::uint32_t> order) {
  if (const auto known = threads_behind(cores, node.cores(), order)) return core_set(*known);
  placement::CoreSet all;
  for (const std::uint32_t core : cores)
    for (std::uint32_t thread = 0; thread < node.threads_per_core; ++thread)
      if (const std::uint32_t number = core + thread * node.cores();
          number < placement::CoreSet::limit)
        all.insert(number);
  return all;
}

/// Of a batch system that counts more as allocated than it shows: all that nobody is seen to have,
/// since any of it may be another job's.
std::optional<placement::JobAllocation> hidden_jobs(
    const SourceNode& node, const std::vector<SourceInventory::JobPart>& seen,
    std::span<const std::uint32_t> order) {
  if (node.hidden_cores == 0) return std::nullopt;
  std::uint64_t memory = node.memory_free.value;
  for (const auto& [job, share] : seen) memory += share->memory.value;
  const CoreList suspects =
      without(first_numbers(node.cores()), node.free_cores.value_or(CoreList{}));
  return placement::JobAllocation{
      .job = placement::JobId(0),
      .cores = system_cores(node, suspects, order),
      .memory = {node.memory.value - std::min(node.memory.value, memory)},
      .gpus = {}};
}

}  // namespace

const SourceNode* ClusterView::node_of(const std::vector<const Executor*>& executors) const {
  const auto& nodes = inventory_.nodes();
  const auto is_of_another = [this](const GrantTerms& grant) {
    return !grant.cluster.empty() && grant.cluster != cluster_;
  };
  for (const Executor* executor : executors) {
    const GrantTerms& grant = executor->grant;
    if (grant.node.empty() || is_of_another(grant)) continue;
    if (const auto found = nodes.find(grant.node); found != nodes.end()) return &found->second;
  }
  for (const Executor* executor : executors) {
    if (executor->grant.job != 0 || is_of_another(executor->grant)) continue;
    for (const std::string& name : names_of_host(*executor)) {
      if (const auto found = nodes.find(name); found != nodes.end()) return &found->second;
      if (const SourceNode* only = inventory_.only_node_with(name)) return only;
    }
  }
  return nullptr;
}

placement::HostAllocation ClusterView::allocation_of(
    const SourceNode& node, const std::vector<const Executor*>& executors) const {
  placement::HostAllocation allocation{.host = placement::HostId(executors.front()->host.boot_id),
                                       .drained = node.state == SourceNodeState::unusable,
                                       .jobs = {}};
  std::map<std::uint64_t, placement::CoreSet> granted;  // by job
  std::set<std::uint64_t> shared;  // jobs that grant what their steps do not use
  placement::CoreSet of_grants;
  placement::CoreSet gpus_of_grants;  // where others are said to have them, that is over
  for (const Executor* executor : executors)
    if (executor->grant.job != 0) {
      granted[executor->grant.job] |= core_set(executor->host.cores);
      of_grants |= core_set(executor->host.cores);
      gpus_of_grants |= gpu_set(executor->host);
      if (executor->grant.source == GrantSource::share) shared.insert(executor->grant.job);
    }
  const auto& order = executors.front()->host.thread_order;
  const auto seen = inventory_.jobs_on(node.name);
  for (const auto& [job, share] : seen) {
    placement::JobAllocation one{.job = placement::JobId(job->id),
                                 .cores = {},
                                 .memory = share->memory,
                                 .gpus = core_set(share->gpus),
                                 .state = state_of(job->state)};
    const auto own = granted.find(job->id);
    if (own != granted.end())
      one.cores = own->second;
    else
      one.gpus -= gpus_of_grants;
    // What a job's steps use is not free for others either.
    if (own == granted.end() || shared.contains(job->id))
      one.cores |=
          system_cores(node, job->exclusive ? first_numbers(node.cores()) : share->cores, order) -
          of_grants;
    allocation.jobs.push_back(std::move(one));
  }
  if (auto hidden = hidden_jobs(node, seen, order)) {
    hidden->cores -= of_grants;
    allocation.jobs.push_back(std::move(*hidden));
  }
  return allocation;
}

}  // namespace orchid::gateway
