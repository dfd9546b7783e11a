// worker_broker_reserve.cpp: how room comes together for a worker that takes more than comes free
// at once: whose turn it is to have a host reserved, where, and who gives for it. Decision 0029 has
// the reasons.
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "leases/worker_broker.h"
#include "protocol/limits.h"

namespace orchid::gateway {

/// One of the usual workers has room as soon as any other one ends.
bool WorkerBroker::is_large(const Holder& holder) const {
  const placement::WorkerShape& shape = holder.simplest();
  return shape.cores > 1 || shape.gpus > 1 || shape.memory > options_.worker_memory;
}

/// One more such worker, now.
bool WorkerBroker::is_beyond_quota(const Holder& holder,
                                   const placement::WorkerShape& shape) const {
  const placement::TenantUse one{.cores = shape.cores, .gpus = shape.gpus, .leases = 1};
  return capacity_.placement().tenants().over_quota(tenant_of(holder.tenant), one).has_value();
}

bool WorkerBroker::may_reserve(const Holder& holder, MonotonicTime now) const {
  return holder.unmet() > 0 && !holder.over_quota && holder.reserves_again <= now &&
         is_large(holder);
}

/// It has nothing, and may wait no longer for what others have reserved. Large ones have their turn
/// at that themselves.
bool WorkerBroker::is_overdue(const Holder& holder, MonotonicTime now) const {
  return holder.held == 0 && now - holder.since >= first_reservation && !is_large(holder);
}

/// A host that is reserved for somebody else is closed, but not to those who would starve over it
/// though they were there first. If others passed, too, the cores of a host where more wait than
/// there are would never come together.
bool WorkerBroker::may_pass(const Holder& holder, const HostReservations::Reservation& reservation,
                            MonotonicTime now) const {
  const auto reserver = holders_.find(reservation.holder);
  return reserver == holders_.end() ||
         (is_overdue(holder, now) && holder.since < reserver->second.since);
}

bool WorkerBroker::may_pass_any(const Holder& holder, MonotonicTime now) const {
  return std::ranges::any_of(
      reservations_.all(), [&](const auto& entry) { return may_pass(holder, entry.second, now); });
}

void WorkerBroker::keep_out(HolderId id, Holder& holder, placement::WorkerRequest& worker,
                            MonotonicTime now) {
  holder.kept_out = false;
  for (const auto& [boot_id, reservation] : reservations_.all()) {
    if (reservation.holder == id || may_pass(holder, reservation, now)) continue;
    const placement::Host* host = capacity_.placement().description(placement::HostId(boot_id));
    if (host == nullptr) continue;
    worker.reserved_hosts.push_back(host->name);
    holder.kept_out = true;
  }
}

std::size_t WorkerBroker::Gathering::cores() const {
  return std::transform_reduce(asked.begin(), asked.end(), std::size_t{0}, std::plus{},
                               [](const Lease* lease) { return lease->cores(); });
}

/// Leases of an executor's host.
struct WorkerBroker::Gatherable {
  std::vector<placement::DecisionId> ending;
  std::vector<const Lease*> askable;  // in the order in which they are to be asked
  std::map<HolderId, Donor> donors;   // of these
};

WorkerBroker::HostLeases WorkerBroker::leases_by_host() const {
  HostLeases leases;
  for (const auto& [id, lease] : leases_.leases()) {
    const Executor* at = hosts_.find(lease.executor);
    // One that is away gives nothing, and nobody knows when what it has comes free.
    if (lease.placed && at != nullptr && at->state == ExecutorState::connected)
      leases[at->host.boot_id].push_back(&lease);
  }
  return leases;
}

WorkerBroker::Gatherable WorkerBroker::gatherable(const Executor& executor, HolderId id,
                                                  const HostLeases& leases) const {
  Gatherable found;
  const auto here = leases.find(executor.host.boot_id);
  if (here == leases.end()) return found;
  const placement::CoreSet cores = core_set(executor.host.cores);
  const placement::CoreSet gpus = gpu_set(executor.host);
  for (const Lease* lease : here->second) {
    const auto donor = holders_.find(lease->holder);
    if (lease->state == LeaseState::closing) {
      found.ending.push_back(*lease->placed);
    } else if (lease->holder != id && !lease->client && donor != holders_.end() &&
               (core_set(lease->core_ids).intersects(cores) ||
                core_set(lease->gpus).intersects(gpus))) {
      found.askable.push_back(lease);
      const Holder& holder = donor->second;  // what it has been asked for already counts as its own
      found.donors.try_emplace(lease->holder,
                               Donor{.surplus = holder.held - std::min(holder.held, holder.wanted),
                                     .workers = holder.held,
                                     .cores = holder.cores});
    }
  }
  std::ranges::sort(found.askable, std::greater{}, [&](const Lease* lease) {
    const Donor& donor = found.donors.at(lease->holder);
    return std::tuple(donor.surplus, donor.workers, lease->holder, lease->cores());
  });
  return found;
}

/// Asks the placement: so memory, GPUs, and what other executors and jobs have of the host count.
WorkerBroker::Gathering WorkerBroker::gather(const Executor& executor, HolderId id,
                                             const placement::WorkerShape& shape, unsigned most,
                                             const HostLeases& host_leases,
                                             MonotonicTime now) const {
  const Holder& poor = holders_.at(id);
  placement::Request request = request_of(poor);
  request.worker.alternatives = {shape};
  request.worker.client_host_only = executor.host.boot_id == poor.worker.client_host.value();
  const auto fits = [&](unsigned workers, std::span<const placement::DecisionId> ended) {
    request.workers = workers;
    return capacity_.placement().would_fit(placement::GrantId(executor.id.value()), request, ended,
                                           now);
  };
  Gathering found;
  if (is_beyond_quota(poor, shape)) return found;
  if (fits(1, {})) return found;  // it has been refused for something else
  // Each that it has reserved before is a worker that it has by then.
  const unsigned elsewhere = reservations_.count_before(executor.host.boot_id, id);
  Gatherable leases = gatherable(executor, id, host_leases);
  std::vector<placement::DecisionId> ended = std::move(leases.ending);
  auto next = leases.askable.begin();
  std::vector<const Lease*> chosen;  // for one more worker
  while (found.workers < most) {
    if (fits(found.workers + 1, ended)) {
      ++found.workers;
      std::erase_if(chosen, [&](const Lease* lease) {  // what the others made needless
        std::vector<placement::DecisionId> fewer = ended;
        std::erase(fewer, *lease->placed);
        if (!fits(found.workers, fewer)) return false;
        ended = std::move(fewer);
        return true;
      });
      found.asked.insert(found.asked.end(), chosen.begin(), chosen.end());
      chosen.clear();
      continue;
    }
    next = std::find_if(next, leases.askable.end(), [&](const Lease* lease) {
      return may_take(leases.donors.at(lease->holder), lease->cores(), poor,
                      poor.held + elsewhere + found.workers);
    });
    if (next == leases.askable.end()) break;
    Donor& donor = leases.donors.at((*next)->holder);
    donor.surplus -= std::min(donor.surplus, 1U);
    donor.cores -= std::min(donor.cores, (*next)->cores());
    ended.push_back(*(*next)->placed);
    chosen.push_back(*next++);
  }
  return found;
}

std::vector<WorkerBroker::Spot> WorkerBroker::spots_for(HolderId id, const HostLeases& leases,
                                                        MonotonicTime now) const {
  const Holder& holder = holders_.at(id);
  std::vector<Spot> spots;
  for (const auto& [executor_id, executor] : hosts_.executors()) {
    if (executor.state != ExecutorState::connected || !fits(executor, holder.worker) ||
        !Capacity::serves(executor, holder.tenant) ||
        !reservations_.may_begin(executor.host.boot_id, now))
      continue;
    for (const placement::WorkerShape& shape : holder.worker.alternatives)
      if (const Gathering found = gather(executor, id, shape, 1, leases, now); found.workers > 0)
        spots.push_back({.executor = &executor, .shape = shape, .cores = found.cores()});
  }
  return spots;
}

/// As workers are given: the poorest holder of the poorest tenant first, and then who has waited
/// longest. Whoever is served goes behind those who are not.
std::vector<HolderId> WorkerBroker::waiting_line(MonotonicTime now) const {
  std::vector<std::tuple<double, unsigned, MonotonicTime, HolderId>> waiting;
  for (const auto& [id, holder] : holders_)
    if (holder.unmet() > 0 && !holder.over_quota)
      waiting.emplace_back(capacity_.share(holder.tenant, now), holder.held, holder.since, id);
  std::ranges::sort(waiting);
  std::vector<HolderId> line;
  for (const auto& entry : waiting) line.push_back(std::get<HolderId>(entry));
  return line;
}

/// Nobody passes those before him in the line: a host that one of them may get a worker on is not
/// closed to him. Who may not reserve one now keeps nobody else from it.
void WorkerBroker::reserve(MonotonicTime now) {
  if (std::ranges::none_of(holders_, [&](const auto& entry) {
        return may_reserve(entry.second, now) &&
               entry.second.unmet() > reservations_.count_of(entry.first);
      }))
    return;
  const HostLeases leases = leases_by_host();
  std::set<std::string> spoken_for;
  for (const HolderId id : waiting_line(now)) {
    if (may_reserve(holders_.at(id), now))
      reserve_for(id, spoken_for, leases, now);
    else if (!is_large(holders_.at(id)))
      for (const Spot& spot : spots_for(id, leases, now))
        spoken_for.insert(spot.executor->host.boot_id);
  }
}

/// As many hosts as it waits for workers, so that these come side by side; first those where the
/// fewest cores have to be asked back.
void WorkerBroker::reserve_for(HolderId id, std::set<std::string>& spoken_for,
                               const HostLeases& leases, MonotonicTime now) {
  Holder& holder = holders_.at(id);
  unsigned reserved = reservations_.count_of(id);
  if (reserved >= holder.unmet()) return;
  std::vector<Spot> spots = spots_for(id, leases, now);
  std::ranges::stable_sort(spots, {}, &Spot::cores);
  for (const Spot& spot : spots) {
    if (reserved >= holder.unmet()) break;
    const std::string& boot_id = spot.executor->host.boot_id;
    if (spoken_for.contains(boot_id) || !reservations_.may_begin(boot_id, now)) continue;
    // The second one is a second worker, and has to be its due.
    const Gathering due = gather(*spot.executor, id, spot.shape, 1, leases, now);
    if (due.workers == 0) continue;
    reservations_.begin(boot_id, {.holder = id,
                                  .executor = spot.executor->id,
                                  .shape = spot.shape,
                                  .began = now,
                                  .until = now + holder.reserves_for});
    ++reserved;
  }
  // What is missing is looked for again.
  if (reserved < holder.unmet()) holder.reserves_again = now + options_.ask_back_again;
}

/// Anew each time, from the leases that are there then.
void WorkerBroker::ask_for(const std::string& boot_id, const HostLeases& leases, Asked& asked,
                           MonotonicTime now) {
  HostReservations::Reservation& reservation = reservations_.all().at(boot_id);
  reservation.asked = true;
  const Executor* executor = hosts_.find(reservation.executor);
  Holder& holder = holders_.at(reservation.holder);
  const unsigned elsewhere = reservations_.count_of(reservation.holder) - 1;
  Gathering found;
  if (executor != nullptr && holder.unmet() > elsewhere)
    found = gather(*executor, reservation.holder, reservation.shape, holder.unmet() - elsewhere,
                   leases, now);
  for (const Lease* lease : found.asked) ask(lease->holder, {lease->executor}, asked);
  if (found.workers > 0) return;
  holder.reserves_again = std::max(holder.reserves_again, now + options_.ask_back_again);
  end_reservation(boot_id, now);
}

/// It has got a worker. A host that it has reserved stays so only for one more that is its due.
void WorkerBroker::served(HolderId id, const Lease& lease, MonotonicTime now) {
  if (holders_.at(id).unmet() == 0) return end_reservations(now);
  const std::string boot_id = hosts_.find(lease.executor)->host.boot_id;
  const auto found = reservations_.all().find(boot_id);
  if (found == reservations_.all().end() || found->second.holder != id) return;
  const Executor* executor = hosts_.find(found->second.executor);
  if (executor == nullptr ||
      gather(*executor, id, found->second.shape, 1, leases_by_host(), now).workers == 0)
    end_reservation(boot_id, now);
}

/// One that came to nothing in its time, since calls take longer, has twice as much the next time,
/// and others are first for as long as it took.
void WorkerBroker::end_reservations(MonotonicTime now) {
  std::vector<std::string> over;
  for (const auto& [boot_id, reservation] : reservations_.all()) {
    const auto found = holders_.find(reservation.holder);
    const Executor* executor = hosts_.find(reservation.executor);
    const bool lasts = found != holders_.end() && found->second.unmet() > 0 &&
                       !found->second.over_quota && executor != nullptr &&
                       executor->state == ExecutorState::connected && !executor->grant.draining;
    if (lasts && now < reservation.until) continue;
    over.push_back(boot_id);
    if (!lasts || found->second.since > reservation.began) continue;
    Holder& holder = found->second;
    if (reservation.until - reservation.began < holder.reserves_for) continue;  // for another one
    holder.reserves_again = now + holder.reserves_for;
    holder.reserves_for =
        std::min<std::chrono::milliseconds>(2 * holder.reserves_for, limits::longest_deadline);
  }
  for (const std::string& boot_id : over) end_reservation(boot_id, now);
}

/// The others may be placed there again.
void WorkerBroker::end_reservation(const std::string& boot_id, MonotonicTime now) {
  reservations_.end(boot_id, now);
  for (auto& [id, holder] : holders_)
    if (holder.kept_out) holder.refused_at = 0;
}

}  // namespace orchid::gateway
