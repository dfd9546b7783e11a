// worker_broker_ask_back.cpp: who gives a worker back for whom, and how cores come together for a
// worker of several.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "leases/worker_broker.h"

namespace orchid::gateway {
namespace {

/// As long as most calls may take that have to end first; then others have their turn for as long.
constexpr std::chrono::seconds longest_gathering{30};

}  // namespace

std::uint32_t WorkerBroker::Holder::cores_each() const {
  return std::ranges::min(
             worker.alternatives, {},
             [](const placement::WorkerShape& shape) { return std::pair(shape.gpus, shape.cores); })
      .cores;
}

/// Nothing is asked back that would not help: what is its owner's alone, on another host than the
/// only one that will do, or without a GPU where GPUs alone are missing.
WorkerBroker::Useful WorkerBroker::useful_workers(const Holder& poor, HolderId donor) const {
  const bool needs_gpus = std::ranges::all_of(poor.worker.alternatives,
                                              [](const auto& shape) { return shape.gpus > 0; });
  const auto helps = [&](const Lease& lease) {
    const Executor* executor = hosts_.find(lease.executor);
    if (executor == nullptr || (gathering_ && gathering_->executor == lease.executor) ||
        !could_give(*executor, poor.worker) || !Capacity::serves(*executor, poor.tenant))
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
bool WorkerBroker::may_take(const Holder& donor, const Holder& poor, unsigned has,
                            std::uint32_t cores) {
  const unsigned donor_cores = donor.lasting() * donor.cores_each();
  return donor.surplus() > 0 || has == 0 || donor_cores >= cores + (has + 1) * poor.cores_each();
}

void WorkerBroker::ask_back(MonotonicTime now) {
  unsigned incoming = 0;  // cores that come free without our asking
  for (const auto& [id, lease] : leases_.leases())
    if (lease.state == LeaseState::closing) incoming += static_cast<unsigned>(lease.cores());
  for (auto& [id, holder] : holders_) {
    if (holder.asked_back > 0 && now - holder.asked_at >= options_.ask_back_again)
      holder.asked_back = 0;
    incoming += holder.asked_back * holder.cores_each();
  }
  for (const auto& [id, poor] : holders_)
    if (!gathering_ || gathering_->holder != id) ask_back_for(id, poor, incoming, now);
}

void WorkerBroker::ask_back_for(HolderId poor_id, const Holder& poor, unsigned& incoming,
                                MonotonicTime now) {
  const std::uint32_t each = poor.cores_each();
  std::map<HolderId, Useful> useful;  // the same for each core that it misses
  const auto useful_of = [&](HolderId id) -> const Useful& {
    const auto known = useful.find(id);
    return known != useful.end() ? known->second
                                 : useful.emplace(id, useful_workers(poor, id)).first->second;
  };
  unsigned coming = 0;  // cores
  for (unsigned missing = poor.unmet() * each; coming < missing;) {
    if (incoming > 0) {
      const unsigned some = std::min(incoming, missing - coming);
      incoming -= some;
      coming += some;
      continue;
    }
    const unsigned has = poor.held + coming / each;
    HolderId donor_id;
    Holder* donor = nullptr;
    for (auto& [id, candidate] : holders_) {
      if (id == poor_id || candidate.lasting() == 0) continue;
      // Smaller ones that are wanted would be taken again before there are enough: see gathering.
      const bool small = candidate.cores_each() < each && candidate.surplus() == 0;
      if (small || !may_take(candidate, poor, has, candidate.cores_each())) continue;
      if (useful_of(id).executors.empty()) continue;
      const auto rank = [](const Holder& h) { return std::pair(h.surplus(), h.lasting()); };
      if (donor == nullptr || rank(candidate) > rank(*donor)) {
        donor_id = id;
        donor = &candidate;
      }
    }
    if (donor == nullptr) return;
    ++donor->asked_back;
    donor->asked_at = now;
    coming += donor->cores_each();
    const Useful& of_donor = useful_of(donor_id);
    actions_.emplace_back(
        AskBack{donor_id, 1, of_donor.all ? std::vector<ExecutorId>{} : of_donor.executors});
  }
}

/// The executor where the fewest cores have to be asked back for one of its workers.
std::optional<WorkerBroker::Gathering> WorkerBroker::where_to_gather(HolderId id,
                                                                     const Holder& poor) const {
  const std::size_t each = poor.cores_each();
  std::optional<Gathering> best;
  std::size_t fewest = 0;
  for (const auto& [executor_id, executor] : hosts_.executors()) {
    if (executor.state != ExecutorState::connected || executor.grant.draining ||
        executor.host.cores.size() < each || !could_give(executor, poor.worker) ||
        !Capacity::serves(executor, poor.tenant))
      continue;
    std::size_t free = executor.host.cores.size();
    std::size_t closing = 0;
    std::size_t askable = 0;
    for (const auto& [lease_id, lease] : leases_.leases()) {
      if (lease.executor != executor_id) continue;
      free -= std::min(free, lease.cores());
      const auto donor = holders_.find(lease.holder);
      if (lease.state == LeaseState::closing)
        closing += lease.cores();
      else if (lease.holder != id && donor != holders_.end() && !donor->second.client &&
               may_take(donor->second, poor, poor.held, poor.cores_each()))
        askable += lease.cores();
    }
    // With enough free ones something else is missing.
    if (free >= each || free + closing + askable < each) continue;
    const std::size_t missing = each - std::min(each, free + closing);
    if (best && missing >= fewest) continue;
    fewest = missing;
    best = Gathering{.holder = id,
                     .executor = executor_id,
                     .host = Capacity::name_of(executor),
                     .missing = missing};
  }
  return best;
}

/// For one worker at a time; who has the fewest comes first.
void WorkerBroker::begin_gathering(MonotonicTime now) {
  if (gathering_) return;
  std::vector<std::pair<unsigned, HolderId>> wanting;
  for (const auto& [id, holder] : holders_)
    if (holder.unmet() > 0 && holder.cores_each() > 1 && !holder.over_quota &&
        holder.gathers_again <= now)
      wanting.emplace_back(holder.held, id);
  std::ranges::sort(wanting);
  for (const auto& [held, id] : wanting) {
    gathering_ = where_to_gather(id, holders_.at(id));
    if (!gathering_) continue;
    gathering_->until = now + longest_gathering;
    return ask_back_there(now);
  }
}

/// Once: dispatchers do not forget what they owe.
void WorkerBroker::ask_back_there(MonotonicTime now) {
  const Holder& poor = holders_.at(gathering_->holder);
  std::map<HolderId, unsigned> workers;
  for (const auto& [id, lease] : leases_.leases())
    if (lease.executor == gathering_->executor && lease.state != LeaseState::closing &&
        !lease.client && lease.holder != gathering_->holder)
      ++workers[lease.holder];
  std::vector<HolderId> donors;
  for (const auto& [id, count] : workers)
    if (const auto donor = holders_.find(id);
        donor != holders_.end() && may_take(donor->second, poor, poor.held, poor.cores_each()))
      donors.push_back(id);
  std::ranges::sort(donors, std::greater{}, [&](HolderId id) {
    return std::pair(holders_.at(id).surplus(), holders_.at(id).lasting());
  });
  std::size_t missing = gathering_->missing;
  for (const HolderId id : donors) {
    if (missing == 0) return;
    Holder& donor = holders_.at(id);
    const std::uint32_t cores = donor.cores_each();
    const auto count =
        static_cast<unsigned>(std::min<std::size_t>(workers.at(id), (missing + cores - 1) / cores));
    missing -= std::min<std::size_t>(missing, std::size_t{count} * cores);
    donor.asked_back += count;
    donor.asked_at = now;
    actions_.emplace_back(AskBack{id, count, {gathering_->executor}});
  }
}

void WorkerBroker::end_gathering(MonotonicTime now) {
  if (!gathering_) return;
  const auto holder = holders_.find(gathering_->holder);
  const Executor* executor = hosts_.find(gathering_->executor);
  const bool wanted = holder != holders_.end() && holder->second.unmet() > 0;
  const bool there = executor != nullptr && executor->state == ExecutorState::connected &&
                     !executor->grant.draining;
  if (wanted && there && now < gathering_->until) return;
  if (wanted && there) holder->second.gathers_again = now + longest_gathering;
  stop_gathering();
}

/// The others may be placed there again.
void WorkerBroker::stop_gathering() {
  gathering_.reset();
  for (auto& [id, holder] : holders_) holder.refused_at = 0;
}

}  // namespace orchid::gateway
