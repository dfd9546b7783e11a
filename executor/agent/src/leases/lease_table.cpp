#include "leases/lease_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/random.h"

namespace orchid::executor {

Result<LeaseOpened> LeaseTable::open(const OpenLease& request, MonotonicTime now) {
  if (request.lease.epoch < epoch_)
    return fail(ErrorCode::denied, "the lease is of an older epoch of the gateway");
  if (const auto known = leases_.find(request.lease); known != leases_.end())
    return LeaseOpened{request.lease, known->second.terms.workers};
  if (ended_.contains(request.lease))
    return fail(ErrorCode::conflict, "the lease has ended; a new one needs a new id");
  if (draining_)
    return fail(ErrorCode::no_capacity, "the executor's cores are being given back to their owner");
  if (request.workers == 0 || request.cores_per_worker == 0)
    return fail(ErrorCode::bad_request, "a lease needs workers and cores");
  if (auto free = check_gpus(request); !free) return fail(std::move(free.error()));
  auto chosen = choose_cores(request);
  if (!chosen) return fail(std::move(chosen.error()));
  if (auto claimed = claim_parts(*chosen, without(request.gpus, gpus_left())); !claimed)
    return fail(std::move(claimed.error()));
  taken_ = united(taken_, *chosen);
  gpus_taken_ = united(gpus_taken_, request.gpus);
  Lease lease{.terms = request, .lapses = now + request.claim_within};
  lease.terms.core_ids = std::move(*chosen);
  if (request.client) lease.expires = now + request.client->expires_in;
  leases_.emplace(request.lease, std::move(lease));
  return LeaseOpened{request.lease, request.workers};
}

/// Those that another executor has; if there are any, nothing was taken.
CoreList LeaseTable::claim_all(HostPart part, const CoreList& numbers) {
  if (claims_ == nullptr) return {};
  CoreList claimed;
  CoreList others;
  for (const std::uint32_t number : numbers)
    (claims_->take(part, number) ? claimed : others).push_back(number);
  if (!others.empty()) leave_all(part, claimed);
  return others;
}

void LeaseTable::leave_all(HostPart part, const CoreList& numbers) {
  if (claims_ == nullptr) return;
  for (const std::uint32_t number : numbers) claims_->leave(part, number);
}

Result<void> LeaseTable::claim_parts(const CoreList& cores, const CoreList& gpus) {
  constexpr const char* why =
      "another executor of this host still has {} {}, in a lease from before the gateway lost "
      "contact with it";
  if (const CoreList others = claim_all(HostPart::core, cores); !others.empty()) {
    others_ = united(others_, others);
    return fail(ErrorCode::no_capacity, fmt::format(why, "cores", to_core_text(others)));
  }
  if (const CoreList others = claim_all(HostPart::gpu, gpus); !others.empty()) {
    leave_all(HostPart::core, cores);
    return fail(ErrorCode::no_capacity, fmt::format(why, "GPUs", to_core_text(others)));
  }
  others_ = without(others_, cores);
  return {};
}

bool LeaseTable::look_at_others() {
  const CoreList before = others_;
  for (const std::uint32_t core : before) {
    if (!claim_all(HostPart::core, {core}).empty()) continue;
    leave_all(HostPart::core, {core});
    others_ = without(others_, {core});
  }
  return others_ != before;
}

Result<CoreList> LeaseTable::choose_cores(const OpenLease& request) const {
  const std::uint64_t wanted = std::uint64_t{request.workers} * request.cores_per_worker;
  if (request.core_ids.empty()) {
    CoreList free = without(usable_cores(), taken_);
    if (wanted > free.size())
      return fail(ErrorCode::no_capacity, fmt::format("{} of {} cores are free, the lease wants {}",
                                                      free.size(), cores_.size(), wanted));
    free.resize(wanted);
    return free;
  }
  if (request.core_ids.size() != wanted)
    return fail(ErrorCode::bad_request, fmt::format("the lease names {} cores, its workers have {}",
                                                    request.core_ids.size(), wanted));
  if (const CoreList foreign = without(request.core_ids, most_); !foreign.empty())
    return fail(ErrorCode::bad_request,
                fmt::format("the lease names cores that this executor does not offer: {} (it "
                            "offers {})",
                            to_core_text(foreign), to_core_text(cores_)));
  if (const CoreList gone = without(request.core_ids, cores_); !gone.empty())
    return fail(ErrorCode::no_capacity,
                fmt::format("the lease names cores that their owner has just taken back: {}",
                            to_core_text(gone)));
  const CoreList left = without(request.core_ids, taken_);
  if (left.size() != wanted)
    return fail(ErrorCode::no_capacity,
                fmt::format("another lease has cores that the lease names: {}",
                            to_core_text(without(request.core_ids, left))));
  return request.core_ids;
}

Result<void> LeaseTable::check_gpus(const OpenLease& request) const {
  if (const CoreList foreign = without(request.gpus, all_gpus_); !foreign.empty())
    return fail(
        ErrorCode::bad_request,
        fmt::format("the lease names GPUs that this executor does not offer: {} (it offers {})",
                    to_core_text(foreign), all_gpus_.empty() ? "none" : to_core_text(all_gpus_)));
  if (const CoreList faulty = without(request.gpus, gpus_); !faulty.empty())
    return fail(ErrorCode::no_capacity,
                fmt::format("the lease names GPUs that cannot be used now: {}; 'orchid hosts' says "
                            "why",
                            to_core_text(faulty)));
  const CoreList left = without(request.gpus, gpus_taken_);
  if (left.size() == request.gpus.size()) return {};
  return fail(ErrorCode::no_capacity, fmt::format("another lease has GPUs that the lease names: {}",
                                                  to_core_text(without(request.gpus, left))));
}

Result<const OpenLease*> LeaseTable::claim(const Claim& claim) {
  const auto found = leases_.find(claim.lease);
  if (found == leases_.end() || !equal_in_constant_time(found->second.terms.secret, claim.secret))
    return fail(ErrorCode::denied,
                "no such lease, or a wrong secret: ask the gateway for a new lease");
  Lease& lease = found->second;
  if (claim.uid.value_or(0) != 0 && *claim.uid != lease.terms.tenant.uid &&
      claim.uid != lease.terms.holder_uid)
    return fail(ErrorCode::denied, "the lease belongs to another user");
  if (lease.reclaimed)
    return fail(ErrorCode::lease_ended, "the owner of the lease's cores takes them back");
  if (lease.terms.client && lease.terms.client->separate_processes && !claim.apart)
    return fail(ErrorCode::unsupported,
                "the lease has separate processes for its modules: claim its workers with lane "
                "protocol 2");
  const bool several = claim.apart && !lease.terms.client;
  if (lease.claimed >= lease.terms.workers * (several ? claims_per_place : 1))
    return fail(ErrorCode::no_capacity, "all workers of the lease are claimed");
  ++lease.claimed;
  lease.ever_claimed = true;
  return &lease.terms;
}

std::optional<std::string> LeaseTable::secret_of(const LeaseId& lease) const {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return std::nullopt;
  return found->second.terms.secret;
}

void LeaseTable::remove(Leases::iterator lease) {
  taken_ = without(taken_, lease->second.terms.core_ids);
  gpus_taken_ = without(gpus_taken_, lease->second.terms.gpus);
  leave_all(HostPart::core, lease->second.terms.core_ids);
  if (!lease->second.terms.gpus.empty()) left_gpus_[lease->first] = lease->second.terms.gpus;
  if (ended_.size() == remembered_ends) ended_.erase(ended_.begin());
  ended_.insert(lease->first);
  leases_.erase(lease);
}

CoreList LeaseTable::gpus_left() const {
  CoreList all;
  for (const auto& [lease, gpus] : left_gpus_) all = united(all, gpus);
  return all;
}

void LeaseTable::vacated(const LeaseId& lease) {
  const auto left = left_gpus_.extract(lease);
  if (left.empty()) return;
  leave_all(HostPart::gpu, without(left.mapped(), united(gpus_taken_, gpus_left())));
}

std::optional<LeaseClosed> LeaseTable::give_back(const LeaseId& lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.claimed == 0) return std::nullopt;
  if (--found->second.claimed != 0) return std::nullopt;
  const bool reclaimed = reclaimed_ || found->second.reclaimed;
  remove(found);
  return LeaseClosed{lease, reclaimed ? LeaseEnd::reclaimed : LeaseEnd::released};
}

LeaseTable::Shrunk LeaseTable::offer(const CoreList& cores) {
  cores_ = common(most_, cores);
  return end_lost();
}

LeaseTable::Shrunk LeaseTable::offer_gpus(const CoreList& gpus) {
  gpus_ = common(all_gpus_, gpus);
  return end_lost();
}

/// Leases with something that is not offered any more.
LeaseTable::Shrunk LeaseTable::end_lost() {
  Shrunk shrunk;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    if (without(lease->second.terms.core_ids, cores_).empty() &&
        without(lease->second.terms.gpus, gpus_).empty())
      continue;
    if (lease->second.claimed != 0) {
      lease->second.reclaimed = true;
      shrunk.lost.push_back(lease->first);
      continue;
    }
    shrunk.closed.push_back({lease->first, LeaseEnd::reclaimed});
    remove(lease);
  }
  return shrunk;
}

std::vector<LeaseClosed> LeaseTable::reclaim() {
  draining_ = reclaimed_ = true;
  std::vector<LeaseClosed> closed;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    if (lease->second.claimed != 0) continue;
    closed.push_back({lease->first, LeaseEnd::reclaimed});
    remove(lease);
  }
  return closed;
}

bool LeaseTable::close(const LeaseId& lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  remove(found);
  return true;
}

bool LeaseTable::renew(const RenewLease& renewal, MonotonicTime now) {
  const auto found = leases_.find(renewal.lease);
  if (found == leases_.end()) return false;
  if (found->second.terms.client) found->second.expires = now + renewal.expires_in;
  return true;
}

std::optional<LeaseEnd> LeaseTable::overdue(const Lease& lease, MonotonicTime now) const {
  if (!lease.ever_claimed && lease.lapses <= now) return LeaseEnd::lapsed;
  const bool extended = gateway_lost_at_ && lease.claimed > 0;
  const MonotonicTime end =
      extended ? std::max(lease.expires, *gateway_lost_at_ + outage_grace) : lease.expires;
  if (end <= now) return LeaseEnd::expired;
  return std::nullopt;
}

std::vector<LeaseClosed> LeaseTable::end_overdue(MonotonicTime now) {
  std::vector<LeaseClosed> ended;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    const auto reason = overdue(lease->second, now);
    if (!reason) continue;
    ended.push_back({lease->first, *reason});
    remove(lease);
  }
  return ended;
}

Result<std::vector<LeaseId>> LeaseTable::begin_epoch(std::uint64_t epoch, MonotonicTime now) {
  if (epoch < epoch_)
    return fail(
        ErrorCode::denied,
        fmt::format("its epoch is {}, but this executor belongs to a gateway of epoch {}: two "
                    "gateways must not share an executor; restart the executor to change gateways",
                    epoch, epoch_));
  if (gateway_lost_at_.has_value()) {
    // Who could not renew is given the time to do so; whoever had more keeps it.
    for (auto& [id, lease] : leases_)
      if (lease.claimed > 0) lease.expires = std::max(lease.expires, now + renewal_grace);
    gateway_lost_at_.reset();
  }
  std::vector<LeaseId> old;
  if (epoch == epoch_) return old;
  epoch_ = epoch;
  ended_.clear();
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    if (lease->second.terms.client) continue;
    old.push_back(lease->first);
    remove(lease);
  }
  return old;
}

void LeaseTable::lose_gateway(MonotonicTime now) {
  if (!gateway_lost_at_) gateway_lost_at_ = now;
}

std::vector<LeaseHeld> LeaseTable::held_by_clients(MonotonicTime now) const {
  std::vector<LeaseHeld> held;
  for (const auto& [id, lease] : leases_) {
    if (!lease.terms.client) continue;
    LeaseHeld message{.lease = id,
                      .tenant = lease.terms.tenant,
                      .workers = lease.terms.workers,
                      .cores_per_worker = lease.terms.cores_per_worker,
                      .core_ids = lease.terms.core_ids,
                      .memory = lease.terms.memory,
                      .client = *lease.terms.client,
                      .gpus = lease.terms.gpus};
    message.client.expires_in =
        std::max(std::chrono::milliseconds(0),
                 std::chrono::duration_cast<std::chrono::milliseconds>(lease.expires - now));
    held.push_back(std::move(message));
  }
  return held;
}

}  // namespace orchid::executor
