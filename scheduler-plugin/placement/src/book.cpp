#include "book.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace orchid::placement {

std::optional<double> HostEntry::expected_watts() const {
  if (!watts) return std::nullopt;
  return std::max(0.0,
                  *watts + static_cast<double>(cores_since_report) * description.watts_per_core);
}

std::optional<HostNumber> Book::find_host(const HostId& id) const {
  const auto found = host_numbers_.find(id);
  return found == host_numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<HostNumber> Book::host_named(const std::string& name) const {
  const auto found = host_names_.find(name);
  return found == host_names_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<SlotNumber> Book::find_grant(const GrantId& id) const {
  const auto found = slot_numbers_.find(id);
  return found == slot_numbers_.end() ? std::nullopt : std::optional(found->second);
}

const LeaseEntry* Book::find_lease(DecisionId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

std::optional<SlotNumber> Book::ended(MonotonicTime now) const {
  if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
  return ends_.begin()->second;
}

CoreSet Book::gpus_of_model(const Slot& slot, std::uint32_t model) const {
  CoreSet fitting;
  for (const auto& [index, its_model] : hosts_[slot.host].gpu_models)
    if (its_model == model && slot.free_gpus.contains(index)) fitting.insert(index);
  return fitting;
}

Place Book::place_of(const WorkerEntry& worker) const {
  const Slot& slot = slots_[worker.slot];
  return {.host = slot.grant.host,
          .grant = slot.grant.id,
          .cores = worker.cores,
          .memory = worker.memory,
          .gpus = worker.gpus,
          .alternative = worker.alternative};
}

// Hosts.

Result<void> Book::put_host(Host description, LossList& losses) {
  const auto out_of_range = [](std::uint32_t number) { return number >= CoreSet::limit; };
  for (const Core& core : description.cores)
    if (out_of_range(core.number) || out_of_range(core.numa_node))
      return fail(ErrorCode::bad_request,
                  fmt::format("host {}: core {} of NUMA node {}: both must be below {}",
                              description.name, core.number, core.numa_node, CoreSet::limit));
  for (const Gpu& gpu : description.gpus)
    if (out_of_range(gpu.index))
      return fail(ErrorCode::bad_request, fmt::format("host {}: GPU {} is not below {}",
                                                      description.name, gpu.index, CoreSet::limit));
  if (const auto named = host_named(description.name);
      named && hosts_[*named].description.id != description.id)
    return fail(ErrorCode::bad_request,
                fmt::format("'{}' is another host's name: {} has it", description.name,
                            hosts_[*named].description.id.value()));
  if (features_.size() + description.features.size() > CoreSet::limit ||
      models_.size() + description.gpus.size() > CoreSet::limit)
    return fail(ErrorCode::bad_request,
                fmt::format("host {}: more than {} different features or GPU models",
                            description.name, CoreSet::limit));
  std::optional<HostNumber> number = find_host(description.id);
  if (!number) {
    if (unused_hosts_.empty()) {
      unused_hosts_.push_back(static_cast<HostNumber>(hosts_.size()));
      hosts_.emplace_back();
    }
    number = unused_hosts_.back();
    unused_hosts_.pop_back();
    hosts_[*number] = {.used = true};
    host_numbers_.emplace(description.id, *number);
    ++hosts_without_grant_;
  } else {
    host_names_.erase(hosts_[*number].description.name);
  }
  host_names_.emplace(description.name, *number);
  describe(hosts_[*number], std::move(description));
  for (const SlotNumber slot : hosts_[*number].slots) classify(slots_[slot]);
  settle(*number, losses);
  return {};
}

void Book::describe(HostEntry& host, Host description) {
  host.cluster = clusters_.number_of(description.cluster);
  host.architecture = architectures_.number_of(description.architecture);
  host.features = {};
  for (const std::string& feature : description.features)
    host.features.insert(features_.number_of(feature));
  host.cores = {};
  host.numa_cores.clear();
  for (const Core& core : description.cores) {
    host.cores.insert(core.number);
    if (core.numa_node >= host.numa_cores.size()) host.numa_cores.resize(core.numa_node + 1);
    host.numa_cores[core.numa_node].insert(core.number);
  }
  host.gpus = {};
  host.gpu_models.clear();
  for (const Gpu& gpu : description.gpus) {
    host.gpus.insert(gpu.index);
    host.gpu_models.emplace_back(gpu.index, models_.number_of(gpu.model));
  }
  host.description = std::move(description);
}

void Book::set_lost(HostNumber number, bool lost) {
  hosts_[number].lost = lost;
  refresh_slots(number);
}

void Book::set_watts(HostNumber number, std::optional<double> watts) {
  hosts_[number].watts = watts;
  hosts_[number].cores_since_report = 0;
  refresh_slots(number);
}

bool Book::set_allocation(HostNumber number, const HostAllocation& allocation, LossList& losses) {
  HostEntry& host = hosts_[number];
  if (host.drained == allocation.drained && host.jobs == allocation.jobs) return false;
  host.drained = allocation.drained;
  host.jobs = allocation.jobs;
  settle(number, losses);
  return true;
}

// Grants.

void Book::put_grant(Grant grant, HostNumber host, LossList& losses) {
  std::optional<SlotNumber> number = find_grant(grant.id);
  if (number && slots_[*number].host != host) {
    remove_grant(*number, losses);
    number.reset();
  }
  if (!number) {
    if (unused_slots_.empty()) {
      unused_slots_.push_back(static_cast<SlotNumber>(slots_.size()));
      slots_.emplace_back();
    }
    number = unused_slots_.back();
    unused_slots_.pop_back();
    slot_numbers_.emplace(grant.id, *number);
    if (hosts_[host].slots.empty()) --hosts_without_grant_;
    hosts_[host].slots.push_back(*number);
  }
  Slot& slot = slots_[*number];
  if (slot.used) ends_.erase({slot.grant.until, *number});
  if (grant.until != no_end) ends_.emplace(grant.until, *number);
  slot.grant = std::move(grant);
  slot.host = host;
  classify(slot);
  settle(host, losses);
}

/// Its class; it becomes used thereby.
void Book::classify(Slot& slot) {
  const HostEntry& host = hosts_[slot.host];
  HostClass wanted{.cluster = host.cluster,
                   .architecture = host.architecture,
                   .kind = host.description.kind,
                   .features = host.features,
                   .models = {},
                   .owner = {}};
  for (const auto& [index, model] : host.gpu_models)
    if (slot.grant.gpus.contains(index)) wanted.models.insert(model);
  if (slot.grant.users == GrantUsers::owner_only) wanted.owner = slot.grant.owner;
  wanted.own_host_only = slot.grant.own_host_only;
  if (slot.used && classes_.at(slot.host_class) == wanted) return;
  const ClassNumber entered = classes_.enter(wanted);
  if (slot.used) {
    index_.remove(static_cast<SlotNumber>(&slot - slots_.data()));  // settle enters it again
    classes_.leave(slot.host_class);
  }
  slot.host_class = entered;
  slot.used = true;
}

// Leases.

void Book::take(DecisionId id, TenantId tenant, WorkerEntry worker) {
  Slot& slot = slots_[worker.slot];
  HostEntry& host = hosts_[slot.host];
  assert(slot.free.includes(worker.cores) && slot.free_gpus.includes(worker.gpus));
  host.leased |= worker.cores;
  host.leased_gpus |= worker.gpus;
  host.cores_since_report += worker.cores.size();
  slot.placed.value += worker.memory.value;
  slot.leases.push_back(id);
  LeaseEntry& lease = leases_[id];
  lease.tenant = tenant;
  lease.workers.push_back(std::move(worker));
  refresh_slots(slot.host);
}

void Book::close(DecisionId id) {
  const auto found = leases_.find(id);
  for (const WorkerEntry& worker : found->second.workers) {
    give_back(id, worker);
    refresh_slots(slots_[worker.slot].host);
  }
  leases_.erase(found);
}

Slot Book::without(SlotNumber number, std::span<const DecisionId> ended) const {
  Slot slot = slots_[number];
  const HostEntry& host = hosts_[slot.host];
  CoreSet leased = host.leased;
  CoreSet leased_gpus = host.leased_gpus;
  ByteCount placed_in_pool = pool_placed(host, slot);
  for (const DecisionId id : ended) {
    const LeaseEntry* const lease = find_lease(id);
    if (lease == nullptr) continue;
    for (const WorkerEntry& worker : lease->workers) {
      const Slot& its_slot = slots_[worker.slot];
      if (its_slot.host != slot.host) continue;
      leased -= worker.cores;
      leased_gpus -= worker.gpus;
      if (same_pool(slot, its_slot)) placed_in_pool.value -= worker.memory.value;
      if (worker.slot == number) slot.placed.value -= worker.memory.value;
    }
  }
  slot.free = slot.usable - leased;
  slot.free_gpus = slot.usable_gpus - leased_gpus;
  slot.memory_free = memory_left(host, slot, placed_in_pool);
  return slot;
}

void Book::keep_back(HostNumber number, const CoreSet& cores, const CoreSet& gpus) {
  HostEntry& host = hosts_[number];
  assert(!host.leased.intersects(cores) && !host.leased_gpus.intersects(gpus));
  host.kept_back |= cores;
  host.kept_back_gpus |= gpus;
  host.leased |= cores;
  host.leased_gpus |= gpus;
  refresh_slots(number);
}

void Book::let_go(HostNumber number, const CoreSet& cores, const CoreSet& gpus) {
  HostEntry& host = hosts_[number];
  const CoreSet kept = host.kept_back & cores;
  const CoreSet kept_gpus = host.kept_back_gpus & gpus;
  host.kept_back -= kept;
  host.kept_back_gpus -= kept_gpus;
  host.leased -= kept;
  host.leased_gpus -= kept_gpus;
  refresh_slots(number);
}

// Indexes.

FreePosition Book::position_of(const Slot& slot) const {
  FreePosition position{.host_class = slot.host_class,
                        .gpus = slot.free_gpus.size(),
                        .cores = slot.free.size(),
                        .memory = memory_level(slot.memory_free),
                        .until = slot.grant.until};
  if (const auto watts = hosts_[slot.host].expected_watts()) position.watts = *watts;
  return position;
}

void Book::set_unavailable(Slot& slot, Reason reason) {
  if (slot.unavailable != Reason::fits) --unavailable_[static_cast<std::size_t>(slot.unavailable)];
  if (reason != Reason::fits) ++unavailable_[static_cast<std::size_t>(reason)];
  slot.unavailable = reason;
}

Reason Book::availability(const HostEntry& host, const Slot& slot) const {
  if (host.lost) return Reason::host_lost;
  if (host.drained) return Reason::drained;
  for (const JobAllocation& job : host.jobs)
    if (slot.grant.job == job.job && job.state != JobState::running) return Reason::job_not_running;
  if (slot.grant.state == GrantState::draining) return Reason::grant_draining;
  if (slot.grant.state == GrantState::silent) return Reason::grant_silent;
  return Reason::fits;
}

/// Of the grant's, and of its pool's.
ByteCount Book::memory_left(const HostEntry& host, const Slot& slot,
                            ByteCount placed_in_pool) const {
  const std::uint64_t pool = pool_memory(host, slot).value;
  const std::uint64_t granted = slot.grant.memory.value;
  return {std::min(pool - std::min(pool, placed_in_pool.value),
                   granted - std::min(granted, slot.placed.value))};
}

/// What leases and states change. Cheap: it follows each lease.
void Book::refresh_slots(HostNumber number) {
  const HostEntry& host = hosts_[number];
  for (const SlotNumber at : host.slots) {
    Slot& slot = slots_[at];
    slot.free = slot.usable - host.leased;
    slot.free_gpus = slot.usable_gpus - host.leased_gpus;
    slot.memory_free = memory_left(host, slot, pool_placed(host, slot));
    if (const Reason reason = availability(host, slot); reason != slot.unavailable)
      set_unavailable(slot, reason);
    if (slot.unavailable == Reason::fits)
      index_.put(at, position_of(slot));
    else
      index_.remove(at);
  }
}

}  // namespace orchid::placement
