#include "lease_table.h"

#include <fmt/format.h>

#include "foundation/random.h"

namespace orchid::executor {

Result<LeaseOpened> LeaseTable::open(const OpenLease& request, MonotonicTime now) {
  if (request.lease.epoch < epoch_)
    return fail(ErrorCode::denied, "the lease is of an older epoch of the gateway");
  if (const auto known = leases_.find(request.lease); known != leases_.end())
    return LeaseOpened{request.lease, known->second.terms.workers};
  if (ended_.contains(request.lease))
    return fail(ErrorCode::conflict, "the lease has ended; a new one needs a new id");
  if (request.workers == 0 || request.cores_per_worker == 0)
    return fail(ErrorCode::bad_request, "a lease needs workers and cores");
  const std::uint64_t wanted = std::uint64_t{request.workers} * request.cores_per_worker;
  if (wanted > cores_free())
    return fail(ErrorCode::no_capacity, fmt::format("{} of {} cores are free, the lease wants {}",
                                                    cores_free(), cores_, wanted));
  cores_used_ += static_cast<std::uint32_t>(wanted);
  leases_.emplace(request.lease, Lease{request, 0, false, now + request.claim_within});
  return LeaseOpened{request.lease, request.workers};
}

Result<void> LeaseTable::claim(const Claim& claim) {
  const auto found = leases_.find(claim.lease);
  if (found == leases_.end() || !equal_in_constant_time(found->second.terms.secret, claim.secret))
    return fail(ErrorCode::denied,
                "no such lease, or a wrong secret: ask the gateway for a new lease");
  Lease& lease = found->second;
  if (claim.uid != 0 && claim.uid != lease.terms.tenant.uid)
    return fail(ErrorCode::denied, "the lease belongs to another user");
  if (lease.claimed == lease.terms.workers)
    return fail(ErrorCode::no_capacity, "all workers of the lease are claimed");
  ++lease.claimed;
  lease.ever_claimed = true;
  return {};
}

void LeaseTable::remove(Leases::iterator lease) {
  cores_used_ -= lease->second.terms.workers * lease->second.terms.cores_per_worker;
  if (ended_.size() == remembered_ends) ended_.erase(ended_.begin());
  ended_.insert(lease->first);
  leases_.erase(lease);
}

std::optional<LeaseClosed> LeaseTable::give_back(const LeaseId& lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.claimed == 0) return std::nullopt;
  if (--found->second.claimed != 0) return std::nullopt;
  remove(found);
  return LeaseClosed{lease, LeaseEnd::released};
}

bool LeaseTable::close(const LeaseId& lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  remove(found);
  return true;
}

std::vector<LeaseClosed> LeaseTable::lapse(MonotonicTime now) {
  std::vector<LeaseClosed> lapsed;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    if (lease->second.ever_claimed || lease->second.lapses > now) continue;
    lapsed.push_back({lease->first, LeaseEnd::lapsed});
    remove(lease);
  }
  return lapsed;
}

std::vector<LeaseId> LeaseTable::begin_epoch(std::uint64_t epoch) {
  std::vector<LeaseId> old;
  if (epoch <= epoch_) return old;
  epoch_ = epoch;
  ended_.clear();
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    if (lease->first.epoch >= epoch) continue;
    old.push_back(lease->first);
    remove(lease);
  }
  return old;
}

}  // namespace orchid::executor
