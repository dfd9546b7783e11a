// worker_broker_ask_back.cpp: who gives a worker back for whom.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "leases/worker_broker.h"

namespace orchid::gateway {

const placement::WorkerShape& WorkerBroker::Holder::simplest() const {
  return *std::ranges::min_element(
      worker.alternatives, {},
      [](const placement::WorkerShape& shape) { return std::pair(shape.gpus, shape.cores); });
}

bool WorkerBroker::is_reserved(const ExecutorId& executor) const {
  const Executor* known = hosts_.find(executor);
  return known != nullptr && reservations_.all().contains(known->host.boot_id);
}

/// Nothing is asked back that would not help: what is its owner's alone, on another host than the
/// only one that will do, or without a GPU where GPUs alone are missing.
WorkerBroker::Useful WorkerBroker::useful_workers(const Holder& poor, HolderId donor) const {
  const bool needs_gpus = std::ranges::all_of(poor.worker.alternatives,
                                              [](const auto& shape) { return shape.gpus > 0; });
  const auto helps = [&](const Lease& lease) {
    const Executor* executor = hosts_.find(lease.executor);
    if (executor == nullptr || is_reserved(lease.executor) || !could_give(*executor, poor.worker) ||
        !Capacity::serves(*executor, poor.tenant))
      return false;
    if (!needs_gpus || !lease.gpus.empty()) return true;
    const auto host = capacity_.placement().host(placement::HostId(executor->host.boot_id));
    return host && !(host->gpus_granted - host->gpus_leased).empty();
  };
  Useful useful;
  std::set<ExecutorId> seen;
  for (const LeaseId id : leases_.of_holder(donor)) {
    const Lease& lease = *leases_.find(id);
    if (!helps(lease))
      useful.all = false;
    else if (seen.insert(lease.executor).second)
      useful.executors.push_back(lease.executor);
  }
  return useful;
}

/// What nobody wants is given by anybody. Else who gives is not to be poorer in cores than who gets
/// is then, but for the first worker, which everybody gets.
bool WorkerBroker::may_take(const Donor& donor, std::size_t cores, const Holder& poor,
                            unsigned has) {
  return donor.surplus > 0 || has == 0 ||
         donor.cores >= cores + std::size_t{has + 1} * poor.cores_each();
}

/// Cores that come free without our asking. What comes free on a reserved host is spoken for.
std::size_t WorkerBroker::incoming_cores() const {
  std::size_t incoming = 0;
  for (const auto& [id, lease] : leases_.leases())
    if (lease.state == LeaseState::closing && !is_reserved(lease.executor))
      incoming += lease.cores();
  for (const auto& [id, holder] : holders_) incoming += holder.cores_of(holder.asked_back);
  return incoming;
}

/// What is owed is found out anew from time to time, from what is held then: so an ask-back that
/// was lost is repeated, and one that nobody needs any more is taken back.
void WorkerBroker::ask_back(MonotonicTime now) {
  const bool anew = now - asked_at_ >= options_.ask_back_again;
  Asked asked;
  if (anew) {
    asked_at_ = now;
    for (auto& [id, holder] : holders_)
      if (std::exchange(holder.asked_back, 0) > 0) asked.try_emplace(id);
  }
  std::size_t incoming = incoming_cores();
  for (const auto& [id, poor] : holders_) ask_back_for(id, poor, incoming, asked);
  std::vector<std::string> reserved;
  for (const auto& [boot_id, reservation] : reservations_.all())
    if (anew || !reservation.asked) reserved.push_back(boot_id);
  const HostLeases leases = reserved.empty() ? HostLeases{} : leases_by_host();
  for (const std::string& boot_id : reserved) ask_for(boot_id, leases, asked, now);
  for (const auto& [id, where] : asked)
    actions_.emplace_back(AskBack{id, holders_.at(id).asked_back, {where.begin(), where.end()}});
}

void WorkerBroker::ask(HolderId donor, const std::vector<ExecutorId>& where, Asked& asked) {
  Holder& holder = holders_.at(donor);
  holder.asked_back = std::min(holder.asked_back + 1, holder.held);
  asked[donor].insert(where.begin(), where.end());
}

void WorkerBroker::ask_back_for(HolderId poor_id, const Holder& poor, std::size_t& incoming,
                                Asked& asked) {
  const std::size_t each = poor.cores_each();
  std::map<HolderId, Useful> useful;  // the same for each core that it misses
  const auto useful_of = [&](HolderId id) -> const Useful& {
    const auto known = useful.find(id);
    return known != useful.end() ? known->second
                                 : useful.emplace(id, useful_workers(poor, id)).first->second;
  };
  // Where it has a host reserved, it is asked for by itself.
  const unsigned elsewhere = poor.unmet() - std::min(poor.unmet(), reservations_.count_of(poor_id));
  std::size_t coming = 0;  // cores
  for (const std::size_t missing = elsewhere * each; coming < missing;) {
    if (incoming > 0) {
      const std::size_t some = std::min(incoming, missing - coming);
      incoming -= some;
      coming += some;
      continue;
    }
    const auto has = static_cast<unsigned>(poor.held + coming / each);
    HolderId donor_id;
    Holder* donor = nullptr;
    for (auto& [id, candidate] : holders_) {
      if (id == poor_id || candidate.lasting() == 0) continue;
      const std::size_t one = candidate.cores_of(1);
      // Smaller ones that are wanted would be taken again before there are enough: see reserve().
      const bool small = one < each && candidate.surplus() == 0;
      const Donor gives{.surplus = candidate.surplus(),
                        .workers = candidate.lasting(),
                        .cores = candidate.cores_of(candidate.lasting())};
      if (small || !may_take(gives, one, poor, has) || useful_of(id).executors.empty()) continue;
      const auto rank = [](const Holder& h) { return std::pair(h.surplus(), h.lasting()); };
      if (donor == nullptr || rank(candidate) > rank(*donor)) {
        donor_id = id;
        donor = &candidate;
      }
    }
    if (donor == nullptr) return;
    coming += donor->cores_of(1);
    const Useful& of_donor = useful_of(donor_id);
    ask(donor_id, of_donor.all ? std::vector<ExecutorId>{} : of_donor.executors, asked);
  }
}

}  // namespace orchid::gateway
