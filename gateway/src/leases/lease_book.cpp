#include "leases/lease_book.h"

#include <algorithm>
#include <cassert>

#include "foundation/random.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t secret_bytes = 32;

}  // namespace

OpenLease Lease::open_message() const {
  return {.lease = id,
          .secret = secret,
          .tenant = tenant,
          .workers = workers,
          .cores_per_worker = cores_per_worker,
          .memory = memory,
          .client = client};
}

Result<const Lease*> LeaseBook::open(const Request& request, MonotonicTime now) {
  assert(request.workers > 0 && request.cores_per_worker > 0);
  const Executor* executor = hosts_.find(request.executor);
  if (executor == nullptr)
    return fail(ErrorCode::not_found, "no executor '" + request.executor.value() + "'");
  if (executor->state == ExecutorState::lost)
    return fail(ErrorCode::unreachable,
                "the executor on " + executor->host.hostname + " does not answer");
  Lease lease{.id = {},
              .executor = request.executor,
              .holder = request.holder,
              .tenant = request.tenant,
              .workers = request.workers,
              .cores_per_worker = request.cores_per_worker,
              .memory = request.memory,
              .client = request.client,
              .secret = {},
              .changed = now};
  if (lease.cores() > cores_free(request.executor))
    return fail(ErrorCode::no_capacity,
                "all cores of " + executor->host.hostname + " are in use; try again");
  lease.id = next_id();
  lease.secret = random_hex(secret_bytes);
  lease.unanswered_opens = 1;
  return &leases_.emplace(lease.id, std::move(lease)).first->second;
}

LeaseBook::Opened LeaseBook::opened(const ExecutorId& executor, LeaseId id, MonotonicTime now) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.executor != executor) return Opened::unwanted;
  Lease& lease = found->second;
  if (lease.unanswered_opens > 0) --lease.unanswered_opens;
  if (lease.state == LeaseState::closing) return Opened::before;  // its close_lease is on its way
  if (lease.state == LeaseState::open) return Opened::before;
  lease.state = LeaseState::open;
  lease.changed = now;
  return Opened::now;
}

bool LeaseBook::adopt(const ExecutorId& executor, const LeaseHeld& held, HolderId holder,
                      MonotonicTime now) {
  if (const auto known = leases_.find(held.lease); known != leases_.end())
    return known->second.executor == executor && known->second.state != LeaseState::closing;
  // Another executor of the host may have got its cores while this one was not heard of.
  const Executor* holds = hosts_.find(executor);
  const std::size_t wanted = std::size_t{held.workers} * held.cores_per_worker;
  if (holds == nullptr ||
      cores_taken(holds->host.boot_id) + wanted > hosts_.host_cores(holds->host.boot_id))
    return false;
  leases_.emplace(held.lease, Lease{.id = held.lease,
                                    .executor = executor,
                                    .holder = holder,
                                    .tenant = held.tenant,
                                    .workers = held.workers,
                                    .cores_per_worker = held.cores_per_worker,
                                    .memory = held.memory,
                                    .client = held.client,
                                    .secret = {},
                                    .state = LeaseState::open,
                                    .changed = now});
  return true;
}

void LeaseBook::renew(LeaseId id, std::chrono::milliseconds expires_in) {
  if (const auto found = leases_.find(id); found != leases_.end() && found->second.client)
    found->second.client->expires_in = expires_in;
}

std::optional<LeaseBook::Ended> LeaseBook::refused(const ExecutorId& executor, LeaseId id,
                                                   MonotonicTime now) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.executor != executor) return std::nullopt;
  if (found->second.unanswered_opens > 0) --found->second.unanswered_opens;
  return end(found, now);
}

std::optional<LeaseBook::Ended> LeaseBook::closed(const ExecutorId& executor, LeaseId id,
                                                  MonotonicTime now) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.executor != executor) return std::nullopt;
  return end(found, now);
}

std::optional<LeaseBook::Ended> LeaseBook::end(std::map<LeaseId, Lease>::iterator found,
                                               MonotonicTime now) {
  Lease& lease = found->second;
  // Once only: an executor that answers nothing in order must not keep us saying the same for ever.
  if (lease.unanswered_opens > 0 && !lease.closed_early) {
    lease.closed_early = true;
    Ended ended{.lease = lease, .close_again = true};
    lease.state = LeaseState::closing;
    lease.changed = now;
    return ended;
  }
  Ended ended{.lease = std::move(lease)};
  leases_.erase(found);
  return ended;
}

bool LeaseBook::close(LeaseId id, MonotonicTime now) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.state == LeaseState::closing) return false;
  found->second.state = LeaseState::closing;
  found->second.changed = now;
  return true;
}

std::vector<Lease> LeaseBook::drop_executor(const ExecutorId& executor) {
  std::vector<Lease> dropped;
  std::erase_if(leases_, [&](auto& entry) {
    if (entry.second.executor != executor) return false;
    dropped.push_back(std::move(entry.second));
    return true;
  });
  return dropped;
}

std::vector<ControlMessage> LeaseBook::restate(const ExecutorId& executor) {
  std::vector<ControlMessage> messages;
  for (auto& [id, lease] : leases_) {
    if (lease.executor != executor) continue;
    // What was on its way in the old stream will not arrive.
    const bool adopted = lease.secret.empty();  // the executor has it, and tells us so
    lease.unanswered_opens = lease.state == LeaseState::closing || adopted ? 0 : 1;
    if (lease.state == LeaseState::closing)
      messages.emplace_back(CloseLease{id});
    else if (!adopted)
      messages.emplace_back(lease.open_message());
  }
  return messages;
}

const Lease* LeaseBook::find(LeaseId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

std::vector<LeaseId> LeaseBook::of_holder(HolderId holder) const {
  std::vector<LeaseId> found;
  for (const auto& [id, lease] : leases_)
    if (lease.holder == holder) found.push_back(id);
  return found;
}

std::size_t LeaseBook::cores_free(const ExecutorId& id) const {
  const Executor* executor = hosts_.find(id);
  if (executor == nullptr || executor->state == ExecutorState::lost) return 0;
  std::size_t taken = 0;
  for (const auto& [lease_id, lease] : leases_)
    if (lease.executor == id) taken += lease.cores();
  const auto left = [](std::size_t all, std::size_t used) { return all > used ? all - used : 0; };
  const std::string& boot_id = executor->host.boot_id;
  return std::min(left(executor->host.cores.size(), taken),
                  left(hosts_.host_cores(boot_id), cores_taken(boot_id)));
}

std::size_t LeaseBook::cores_taken(const std::string& boot_id) const {
  std::size_t taken = 0;
  for (const auto& [id, lease] : leases_) {
    const Executor* executor = hosts_.find(lease.executor);
    if (executor != nullptr && executor->host.boot_id == boot_id) taken += lease.cores();
  }
  return taken;
}

std::vector<LeaseId> LeaseBook::opening_since(MonotonicTime time) const {
  std::vector<LeaseId> found;
  for (const auto& [id, lease] : leases_)
    if (lease.state == LeaseState::opening && lease.changed <= time) found.push_back(id);
  return found;
}

std::size_t LeaseBook::closing_count() const {
  return static_cast<std::size_t>(std::ranges::count(
      leases_, LeaseState::closing, [](const auto& entry) { return entry.second.state; }));
}

}  // namespace orchid::gateway
