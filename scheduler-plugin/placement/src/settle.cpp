// settle.cpp: the part of the Book that makes its invariants true again after an event, and takes
// places away for that.
#include <algorithm>
#include <cassert>

#include "book.h"

namespace orchid::placement {

Displaced& LossList::of(DecisionId id, TenantId tenant) {
  const auto [at, added] = positions_.try_emplace(id, all_.size());
  if (added) all_.push_back({.lease = id, .tenant = tenant});
  return all_[at->second];
}

void Book::settle(HostNumber number, LossList& losses) {
  HostEntry& host = hosts_[number];
  for (const SlotNumber slot : host.slots) find_usable(host, slots_[slot]);
  drop_misplaced(host, losses);
  drop_overcommitted(host, losses);
  refresh_slots(number);
}

/// What is granted, the host has, and no job has but the grant's own.
void Book::find_usable(const HostEntry& host, Slot& slot) const {
  slot.usable = slot.grant.cores & host.cores;
  slot.usable_gpus = slot.grant.gpus & host.gpus;
  slot.job_memory.reset();
  bool listed = false;
  for (const JobAllocation& job : host.jobs) {
    if (slot.grant.job == job.job) {
      listed = true;
      if (job.memory.value > 0) slot.job_memory = job.memory;
      continue;
    }
    slot.usable -= job.cores;
    slot.usable_gpus -= job.gpus;
  }
  if (slot.grant.job && !listed) slot.job_memory = granted_memory(host, *slot.grant.job);
}

CoreSet Book::gpus_of_jobs(const HostEntry& host) const {
  CoreSet all;
  for (const JobAllocation& job : host.jobs) {
    CoreSet kept = job.gpus;
    for (const SlotNumber number : host.slots)
      if (const Slot& slot = slots_[number]; slot.grant.job == job.job) kept -= slot.grant.gpus;
    all |= kept;
  }
  return all & host.gpus;
}

/// A job that has just begun grants before Slurm has been asked again: what others have left of the
/// host's memory, as far as is known, is not what it was given.
ByteCount Book::granted_memory(const HostEntry& host, const JobId& job) const {
  ByteCount memory;
  for (const SlotNumber number : host.slots)
    if (slots_[number].grant.job == job) memory.value += slots_[number].grant.memory.value;
  return memory;
}

template <typename Misplaced>
void Book::drop_workers(DecisionId id, const Misplaced& misplaced, LossList& losses) {
  const auto found = leases_.find(id);
  LeaseEntry& lease = found->second;
  Displaced& loss = losses.of(id, lease.tenant);
  std::erase_if(lease.workers, [&](const WorkerEntry& worker) {
    if (!misplaced(worker)) return false;
    loss.places.push_back(place_of(worker));
    give_back(id, worker);
    return true;
  });
  if (!lease.workers.empty()) return;
  loss.closed = true;
  leases_.erase(found);
}

void Book::drop_misplaced(const HostEntry& host, LossList& losses) {
  for (const SlotNumber number : host.slots) {
    const Slot& slot = slots_[number];
    const auto misplaced = [&](const WorkerEntry& worker) {
      return worker.slot == number &&
             (!slot.usable.includes(worker.cores) || !slot.usable_gpus.includes(worker.gpus));
    };
    CoreSet taken = host.leased;
    taken -= slot.usable;
    CoreSet taken_gpus = host.leased_gpus;
    taken_gpus -= slot.usable_gpus;
    if (taken.empty() && taken_gpus.empty()) continue;  // the usual case
    const std::vector<DecisionId> leases = slot.leases;
    for (const DecisionId id : leases)
      if (const LeaseEntry* const lease = find_lease(id);
          lease != nullptr && std::ranges::any_of(lease->workers, misplaced))
        drop_workers(id, misplaced, losses);
  }
}

/// The host's memory that jobs leave, or what Slurm gave to the grant's own job.
ByteCount Book::pool_memory(const HostEntry& host, const Slot& slot) const {
  if (slot.job_memory) return *slot.job_memory;
  std::uint64_t jobs = 0;
  for (const JobAllocation& job : host.jobs) jobs += job.memory.value;
  return {host.description.memory.value - std::min(host.description.memory.value, jobs)};
}

bool Book::same_pool(const Slot& left, const Slot& right) {
  return left.job_memory.has_value() == right.job_memory.has_value() &&
         (!left.job_memory || left.grant.job == right.grant.job);
}

ByteCount Book::pool_placed(const HostEntry& host, const Slot& slot) const {
  ByteCount placed;
  for (const SlotNumber other : host.slots)
    if (same_pool(slot, slots_[other])) placed.value += slots_[other].placed.value;
  return placed;
}

/// Grants that hold more memory in leases than there is, be it one grant or one pool.
std::vector<SlotNumber> Book::overcommitted(const HostEntry& host) const {
  for (const SlotNumber number : host.slots) {
    const Slot& slot = slots_[number];
    if (slot.placed > slot.grant.memory) return {number};
    if (pool_placed(host, slot) <= pool_memory(host, slot)) continue;
    std::vector<SlotNumber> pool;
    for (const SlotNumber other : host.slots)
      if (same_pool(slot, slots_[other])) pool.push_back(other);
    return pool;
  }
  return {};
}

/// The newest leases go first: they have lost the least.
void Book::drop_overcommitted(const HostEntry& host, LossList& losses) {
  for (auto slots = overcommitted(host); !slots.empty(); slots = overcommitted(host)) {
    const auto concerned = [&](const WorkerEntry& worker) {
      return worker.memory.value > 0 && std::ranges::find(slots, worker.slot) != slots.end();
    };
    DecisionId newest;
    for (const SlotNumber slot : slots)
      for (const DecisionId id : slots_[slot].leases)
        if (newest < id && std::ranges::any_of(leases_.at(id).workers, concerned)) newest = id;
    drop_workers(newest, concerned, losses);
  }
}

void Book::give_back(DecisionId id, const WorkerEntry& worker) {
  Slot& slot = slots_[worker.slot];
  HostEntry& host = hosts_[slot.host];
  host.leased -= worker.cores;
  host.leased_gpus -= worker.gpus;
  host.cores_since_report -= worker.cores.size();
  slot.placed.value -= worker.memory.value;
  const auto entry = std::find(slot.leases.begin(), slot.leases.end(), id);
  assert(entry != slot.leases.end());
  *entry = slot.leases.back();
  slot.leases.pop_back();
}

void Book::remove_grant(SlotNumber number, LossList& losses) {
  Slot& slot = slots_[number];
  const auto on_it = [&](const WorkerEntry& worker) { return worker.slot == number; };
  while (!slot.leases.empty()) drop_workers(slot.leases.back(), on_it, losses);
  set_unavailable(slot, Reason::fits);
  index_.remove(number);
  classes_.leave(slot.host_class);
  ends_.erase({slot.grant.until, number});
  slot_numbers_.erase(slot.grant.id);
  const HostNumber host = slot.host;
  std::erase(hosts_[host].slots, number);
  if (hosts_[host].slots.empty()) ++hosts_without_grant_;
  slot = {};
  unused_slots_.push_back(number);
  refresh_slots(host);
}

void Book::remove_host(HostNumber number, LossList& losses) {
  while (!hosts_[number].slots.empty()) remove_grant(hosts_[number].slots.back(), losses);
  HostEntry& host = hosts_[number];
  host_numbers_.erase(host.description.id);
  host_names_.erase(host.description.name);
  host = {};
  unused_hosts_.push_back(number);
  --hosts_without_grant_;
}

}  // namespace orchid::placement
