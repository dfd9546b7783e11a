#include "hosts/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {
namespace {

using placement::GrantId;
using placement::HostId;
using placement::TenantId;

std::unique_ptr<placement::Policy> policy_or_default(std::unique_ptr<placement::Policy> policy) {
  return policy ? std::move(policy) : placement::make_spread_policy();
}

void append(Capacity::Losses& all, Result<Capacity::Losses> more, const std::string& host) {
  if (!more)
    return log::error("event=host_not_placed host={} reason=\"{}\"", host, more.error().message);
  std::ranges::move(*more, std::back_inserter(all));
}

/// What an executor offers is there, also where no batch system tells of it.
void add_gpus(std::vector<placement::Gpu>& known, const HostDescription& host) {
  for (const OfferedGpu& gpu : host.gpus) {
    if (gpu.index >= placement::CoreSet::limit) continue;
    const auto found = std::ranges::find(known, gpu.index, &placement::Gpu::index);
    if (found == known.end()) {
      known.push_back({.index = gpu.index, .model = gpu.model, .numa_node = gpu.numa_node});
      continue;
    }
    if (found->model.empty()) found->model = gpu.model;
    if (!found->numa_node) found->numa_node = gpu.numa_node;
  }
}

/// 0 where it is not known.
std::uint32_t numa_node_of(const HostDescription& host, std::uint32_t thread) {
  const auto found = std::ranges::find(host.thread_order, thread);
  if (found == host.thread_order.end()) return 0;
  return host.thread_numa_nodes[static_cast<std::size_t>(found - host.thread_order.begin())];
}

GrantUsers users_of(const Executor& executor) {
  const bool is_share = executor.grant.source == GrantSource::share;
  return executor.grant.users.value_or(is_share ? GrantUsers::owner : GrantUsers::everybody);
}

}  // namespace

TenantId tenant_of(const LeaseTenant& tenant) { return TenantId(tenant.uid); }

uid_t owner_of(const Executor& executor) {
  return executor.grant.owner.value_or(executor.owner.tenant.uid);
}

GrantTerms believed(GrantTerms told, uid_t teller, uid_t gateway_owner) {
  if (teller == gateway_owner) return told;
  told.owner = teller;
  told.users = GrantUsers::owner;
  return told;
}

placement::CoreSet core_set(const CoreList& list) {
  placement::CoreSet set;
  for (const std::uint32_t number : list)
    if (number < placement::CoreSet::limit) set.insert(number);
  return set;
}

placement::CoreSet gpu_set(const HostDescription& host) {
  placement::CoreSet set;
  for (const OfferedGpu& gpu : host.gpus)
    if (gpu.index < placement::CoreSet::limit && gpu.fault.empty()) set.insert(gpu.index);
  return set;
}

Capacity::Capacity(const HostBook& hosts, Options options)
    : hosts_(hosts),
      knowledge_(options.knowledge),
      cores_per_user_(options.cores_per_user),
      tenants_(std::move(options.tenants)),
      watts_per_host_(options.watts_per_host),
      watts_per_core_(options.watts_per_core),
      power_counts_(options.watts_per_host.has_value()),
      placement_(policy_or_default(std::move(options.policy)),
                 {.fair_share_half_life = options.fair_share_half_life}) {}

ByteCount Capacity::free_for_data(const Executor& executor, ByteCount known) {
  const std::uint64_t budget = executor.data_memory.value_or(ByteCount{}).value;
  const std::uint64_t told = executor.capacity.data_used.value_or(ByteCount{}).value;
  return {budget - std::min(budget, std::max(told, known.value))};
}

const std::string& Capacity::name_of(const Executor& executor) {
  return executor.grant.node.empty() ? executor.host.hostname : executor.grant.node;
}

std::string Capacity::host_name(const Executor& executor) const {
  const placement::Host* host = placement_.description(HostId(executor.host.boot_id));
  return host == nullptr ? name_of(executor) : host->name;
}

/// Machines that are set up alike may have one name; constraints tell them apart by this one.
std::string Capacity::free_name(const std::string& name, const std::string& boot_id) const {
  std::string free = name;
  for (unsigned count = 2;; ++count) {
    const auto taken = placement_.host_named(free);
    if (!taken || taken->value() == boot_id) return free;
    free = fmt::format("{}~{}", name, count);
  }
}

namespace {

/// One that offers a GPU, or was told what its host is, says so.
placement::HostKind kind_said_by(const std::vector<const Executor*>& executors) {
  for (const Executor* executor : executors)
    if (const auto kind = placement::parse_host_kind(executor->host.kind);
        kind && *kind != placement::HostKind::cpu)
      return *kind;
  return placement::HostKind::cpu;
}

/// That of the batch system that knows the host; else what one of its executors was told.
std::string cluster_of(const std::vector<const Executor*>& executors, const HostFacts& facts) {
  if (!facts.cluster.empty()) return facts.cluster;
  for (const Executor* executor : executors)
    if (!executor->grant.cluster.empty()) return executor->grant.cluster;
  return {};
}

}  // namespace

std::optional<std::set<std::string>> Capacity::cluster_names() const {
  auto names =
      knowledge_ == nullptr ? std::optional(std::set<std::string>()) : knowledge_->cluster_names();
  if (!names) return names;
  for (const auto& [id, executor] : hosts_.executors())
    if (const auto* host = placement_.description(HostId(executor.host.boot_id));
        host != nullptr && !host->cluster.empty())
      names->insert(host->cluster);
  return names;
}

HostFacts Capacity::facts_of(const std::vector<const Executor*>& executors) const {
  const placement::HostKind said = kind_said_by(executors);
  if (knowledge_ != nullptr)
    if (auto known = knowledge_->facts_of(executors)) {
      // Batch systems know no DPUs.
      if (said == placement::HostKind::dpu) known->kind = said;
      return std::move(*known);
    }
  HostFacts facts{.kind = said, .cluster = {}, .features = {}, .gpus = {}, .allocation = {}};
  facts.allocation.host = HostId(executors.front()->host.boot_id);
  return facts;
}

placement::Host Capacity::host_of(const std::vector<const Executor*>& executors,
                                  const HostFacts& facts) const {
  const Executor& first = *executors.front();
  placement::Host host{.id = HostId(first.host.boot_id),
                       .name = free_name(name_of(first), first.host.boot_id),
                       .architecture = first.host.architecture,
                       .cluster = cluster_of(executors, facts),
                       .kind = facts.kind,
                       .features = facts.features,
                       .cores = {},
                       .memory = {},
                       .gpus = facts.gpus,
                       .watts_per_core = watts_per_core_,
                       .watts_at_most = watts_per_host_};
  placement::CoreSet cores;
  for (const Executor* executor : executors) {
    cores |= core_set(executor->host.cores);
    host.memory = std::max(host.memory, executor->host.memory);
    add_gpus(host.gpus, executor->host);
  }
  for (const std::uint32_t number : cores.numbers())
    host.cores.push_back({.number = number, .numa_node = numa_node_of(first.host, number)});
  return host;
}

bool Capacity::serves(const Executor& executor, const LeaseTenant& tenant) {
  return users_of(executor) == GrantUsers::everybody || owner_of(executor) == tenant.uid;
}

placement::Grant Capacity::grant_of(const Executor& executor) {
  placement::Grant grant{
      .id = GrantId(executor.id.value()),
      .host = HostId(executor.host.boot_id),
      .source = placement::SourceId(std::string(to_string(executor.grant.source))),
      .owner = TenantId(owner_of(executor)),
      .cores = core_set(executor.host.cores),
      .memory = executor.host.memory,
      .gpus = gpu_set(executor.host),
      .until = executor.ends,
      .own_host_only = executor.lane_address.empty()};
  if (users_of(executor) == GrantUsers::owner) grant.users = placement::GrantUsers::owner_only;
  if (executor.grant.job != 0) grant.job = placement::JobId(executor.grant.job);
  if (executor.grant.draining) grant.state = placement::GrantState::draining;
  if (executor.state == ExecutorState::lost || executor.refusing_until != MonotonicTime{})
    grant.state = placement::GrantState::silent;
  return grant;
}

Capacity::Losses Capacity::refresh(const std::string& boot_id, MonotonicTime now) {
  ++version_;
  Losses losses;
  const HostId id(boot_id);
  const auto executors = hosts_.of_host(boot_id);
  if (executors.empty()) {
    if (auto removed = placement_.remove_host(id, now)) losses = std::move(*removed);
    return losses;
  }
  const HostFacts facts = facts_of(executors);
  append(losses, placement_.put_host(host_of(executors, facts), now), boot_id);
  for (const Executor* executor : executors)
    append(losses, placement_.put_grant(grant_of(*executor), now), boot_id);
  std::ranges::move(placement_.apply(std::span(&facts.allocation, 1), now),
                    std::back_inserter(losses));
  const auto view = placement_.host(id);
  if (!view) return losses;
  for (const GrantId& grant : view->grants)
    if (hosts_.find(ExecutorId(grant.value())) == nullptr)
      append(losses, placement_.remove_grant(grant, now), boot_id);
  return losses;
}

Capacity::Losses Capacity::refresh_facts(const std::set<std::string>& boot_ids, MonotonicTime now) {
  Losses losses;
  if (boot_ids.empty()) return losses;
  ++version_;
  std::vector<placement::HostAllocation> allocations;
  for (const std::string& boot_id : boot_ids) {
    const auto executors = hosts_.of_host(boot_id);
    HostFacts facts = facts_of(executors);
    const placement::Host* known = placement_.description(HostId(boot_id));
    for (const Executor* executor : executors) add_gpus(facts.gpus, executor->host);
    const bool is_as_before = known != nullptr && known->kind == facts.kind &&
                              known->cluster == cluster_of(executors, facts) &&
                              known->features == facts.features && known->gpus == facts.gpus;
    if (is_as_before)
      allocations.push_back(std::move(facts.allocation));
    else
      std::ranges::move(refresh(boot_id, now), std::back_inserter(losses));
  }
  std::ranges::move(placement_.apply(allocations, now), std::back_inserter(losses));
  return losses;
}

void Capacity::report_power(const std::string& boot_id, std::uint64_t milliwatts) {
  if (power_counts_) ++version_;
  // A host that is gone draws nothing that matters.
  (void)placement_.report_watts(HostId(boot_id), static_cast<double>(milliwatts) / 1000);
}

Capacity::Losses Capacity::expire(MonotonicTime now) { return placement_.expire(now); }

placement::Decision Capacity::place(const placement::Request& request, MonotonicTime now) {
  power_counts_ = power_counts_ || request.worker.watts_at_most;
  return placement_.open(request, now);
}

placement::Decision Capacity::try_out(const placement::Request& request, MonotonicTime now) {
  placement::Decision decision = placement_.open(request, now);
  if (decision.placed()) (void)placement_.close(decision.id, now);
  return decision;
}

Result<placement::DecisionId> Capacity::adopt(const Executor& executor, const LeaseHeld& held,
                                              MonotonicTime now) {
  welcome(held.tenant);
  const placement::Place place{.host = HostId(executor.host.boot_id),
                               .grant = GrantId(executor.id.value()),
                               .cores = core_set(held.core_ids),
                               .memory = {held.memory.value * held.workers},
                               .gpus = core_set(held.gpus)};
  return placement_.adopt(tenant_of(held.tenant), {place}, now);
}

void Capacity::close(placement::DecisionId lease, MonotonicTime now) {
  ++version_;
  [[maybe_unused]] const auto closed = placement_.close(lease, now);
  assert(closed.has_value() && "a lease is closed once, or has been displaced");
}

void Capacity::vacated(const placement::Place& place) {
  ++version_;
  placement_.vacated(place);
}

double Capacity::share(const LeaseTenant& tenant, MonotonicTime now) const {
  return placement_.tenants().share(tenant_of(tenant), now);
}

std::size_t Capacity::cores_leased(const std::string& boot_id) const {
  const auto host = placement_.host(HostId(boot_id));
  return host ? host->leased.size() : 0;
}

std::string Capacity::gpu_model(const std::string& boot_id, const CoreList& gpus) const {
  const auto host = placement_.host(HostId(boot_id));
  if (!host) return {};
  std::optional<std::string> model;
  for (const placement::Gpu& gpu : host->host.gpus) {
    if (!std::ranges::binary_search(gpus, gpu.index)) continue;
    if (model && *model != gpu.model) return {};
    model = gpu.model;
  }
  return model.value_or("");
}

std::uint32_t Capacity::count_gpus(const std::string& boot_id, const placement::CoreSet& gpus,
                                   const std::string& model) const {
  const auto host = placement_.host(HostId(boot_id));
  if (!host) return 0;
  return static_cast<std::uint32_t>(
      std::ranges::count_if(host->host.gpus, [&](const placement::Gpu& gpu) {
        return gpus.contains(gpu.index) && (model.empty() || gpu.model == model);
      }));
}

/// Nothing: no limit, and the usual weight.
std::optional<placement::TenantTerms> Capacity::terms_of(const LeaseTenant& tenant) const {
  placement::TenantTerms terms;
  const auto stated = tenants_.find(tenant.name);
  if (stated == tenants_.end() && cores_per_user_ == 0) return std::nullopt;
  if (stated != tenants_.end()) terms = stated->second;
  if (!terms.quota.cores && cores_per_user_ != 0) terms.quota.cores = cores_per_user_;
  return terms;
}

void Capacity::welcome(const LeaseTenant& tenant) {
  if (const auto terms = terms_of(tenant)) placement_.set_terms(tenant_of(tenant), *terms);
}

std::optional<std::string> Capacity::beyond_quota(const LeaseTenant& tenant,
                                                  const placement::WorkerRequest& worker,
                                                  std::uint32_t workers) const {
  const auto terms = terms_of(tenant);
  if (!terms) return std::nullopt;
  std::uint64_t cores = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t gpus = cores;
  for (const placement::WorkerShape& shape : worker.alternatives) {
    cores = std::min<std::uint64_t>(cores, shape.cores);
    gpus = std::min<std::uint64_t>(gpus, shape.gpus);
  }
  const auto over = [](std::string_view what, std::optional<std::uint32_t> limit,
                       std::uint64_t wanted) -> std::optional<std::string> {
    if (!limit || wanted <= *limit) return std::nullopt;
    return fmt::format("you may have {} {} at a time, and this request wants {}", *limit, what,
                       wanted);
  };
  if (auto beyond = over("cores", terms->quota.cores, cores * workers)) return beyond;
  if (auto beyond = over("GPUs", terms->quota.gpus, gpus * workers)) return beyond;
  return over("workers", terms->quota.leases, workers);
}

}  // namespace orchid::gateway
