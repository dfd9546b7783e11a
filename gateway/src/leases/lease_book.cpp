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
          .core_ids = core_ids,
          .memory = memory,
          .client = client,
          .gpus = gpus};
}

LeaseBook::Opening LeaseBook::open(const Owner& owner, const placement::Request& request,
                                   MonotonicTime now) {
  assert(request.workers == 1 && !request.worker.alternatives.empty());
  const placement::Decision decision = capacity_.place(request, now);
  if (decision.refusal)
    return {decision.id, fail(decision.refusal->code, decision.refusal->message)};
  const placement::Place& place = decision.places.front();
  const placement::WorkerShape& shape = request.worker.alternatives[place.alternative];
  const Executor* executor = hosts_.find(ExecutorId(place.grant.value()));
  assert(executor != nullptr && executor->state == ExecutorState::connected);
  Lease lease{.id = next_id(),
              .executor = executor->id,
              .holder = owner.holder,
              .tenant = owner.tenant,
              .cores_per_worker = shape.cores,
              .core_ids = place.cores.numbers(),
              .memory = shape.memory,
              .client = owner.client,
              .secret = random_hex(secret_bytes),
              .changed = now,
              .unanswered_opens = 1,
              .placed = decision.id,
              .gpus = place.gpus.numbers()};
  by_decision_.emplace(decision.id, lease.id);
  return {decision.id, &leases_.emplace(lease.id, std::move(lease)).first->second};
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
  if (holds == nullptr) return false;
  const auto placed = capacity_.adopt(*holds, held, now);
  if (!placed) return false;
  by_decision_.emplace(*placed, held.lease);
  leases_.emplace(held.lease, Lease{.id = held.lease,
                                    .executor = executor,
                                    .holder = holder,
                                    .tenant = held.tenant,
                                    .workers = held.workers,
                                    .cores_per_worker = held.cores_per_worker,
                                    .core_ids = held.core_ids,
                                    .memory = held.memory,
                                    .client = held.client,
                                    .secret = {},
                                    .state = LeaseState::open,
                                    .changed = now,
                                    .placed = *placed,
                                    .gpus = held.gpus});
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
  free_cores(lease, now);
  Ended ended{.lease = std::move(lease)};
  leases_.erase(found);
  return ended;
}

void LeaseBook::free_cores(Lease& lease, MonotonicTime now) {
  vacate(lease);
  if (!lease.placed) return;
  by_decision_.erase(*lease.placed);
  capacity_.close(*lease.placed, now);
  lease.placed.reset();
}

void LeaseBook::lose_place(const placement::Displaced& loss) {
  const auto known = by_decision_.find(loss.lease);
  if (known == by_decision_.end()) return;
  Lease& lease = leases_.at(known->second);
  assert(loss.closed && loss.places.size() == 1 && "a lease is opened, or adopted, in one place");
  lease.placed.reset();
  by_decision_.erase(known);
  const Executor* executor = hosts_.find(lease.executor);
  if (executor == nullptr || executor->state == ExecutorState::lost) return;
  lease.lost_place = loss.places.front();
  capacity_.vacating(*lease.lost_place);
}

std::vector<Lease> LeaseBook::lose_executor(const ExecutorId& executor, MonotonicTime now) {
  std::vector<Lease> given_up;
  for (auto& [id, lease] : leases_) {
    if (lease.executor != executor || !lease.lost_place) continue;
    vacate(lease);
    if (lease.state == LeaseState::closing) continue;
    given_up.push_back(lease);
    lease.state = LeaseState::closing;
    lease.changed = now;
  }
  return given_up;
}

void LeaseBook::vacate(Lease& lease) {
  if (lease.lost_place) capacity_.vacated(*lease.lost_place);
  lease.lost_place.reset();
}

std::optional<Lease> LeaseBook::displace(const placement::Displaced& loss, MonotonicTime now) {
  const auto known = by_decision_.find(loss.lease);
  if (known == by_decision_.end()) return std::nullopt;
  Lease& lease = leases_.at(known->second);
  lose_place(loss);
  if (lease.state == LeaseState::closing) return std::nullopt;
  Lease before = lease;
  lease.state = LeaseState::closing;
  lease.changed = now;
  return before;
}

bool LeaseBook::close(LeaseId id, MonotonicTime now) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.state == LeaseState::closing) return false;
  found->second.state = LeaseState::closing;
  found->second.changed = now;
  return true;
}

std::vector<Lease> LeaseBook::drop_executor(const ExecutorId& executor, MonotonicTime now) {
  std::vector<Lease> dropped;
  for (auto at = leases_.begin(); at != leases_.end();) {
    if (at->second.executor != executor) {
      ++at;
      continue;
    }
    free_cores(at->second, now);
    dropped.push_back(std::move(at->second));
    at = leases_.erase(at);
  }
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

const Lease* LeaseBook::of_decision(placement::DecisionId decision) const {
  const auto found = by_decision_.find(decision);
  return found == by_decision_.end() ? nullptr : find(found->second);
}

std::vector<LeaseId> LeaseBook::of_holder(HolderId holder) const {
  std::vector<LeaseId> found;
  for (const auto& [id, lease] : leases_)
    if (lease.holder == holder) found.push_back(id);
  return found;
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
