// worker_broker_plan.cpp: who gets a worker next, where, and who gives one back; and what is said
// of such decisions afterwards.
#include <algorithm>
#include <tuple>
#include <utility>

#include "leases/worker_broker.h"

namespace orchid::gateway {

void WorkerBroker::plan(MonotonicTime now) {
  while (open_one(now)) {
  }
  ask_back(now);
}

/// The poorest holder of the poorest tenant that wants more and can have it gets one. Among equals,
/// the first one after the last that was served.
bool WorkerBroker::open_one(MonotonicTime now) {
  std::vector<std::tuple<double, unsigned, bool, HolderId>> wanting;
  for (const auto& [id, holder] : holders_)
    if (holder.unmet() > 0 && holder.refused_at != capacity_.version())
      wanting.emplace_back(capacity_.share(holder.terms.tenant, now), holder.held,
                           id <= last_served_, id);
  std::ranges::sort(wanting);
  return std::ranges::any_of(wanting, [&](const auto& entry) {
    const HolderId id = std::get<HolderId>(entry);
    return open_for(id, holders_.at(id), now);
  });
}

bool WorkerBroker::open_for(HolderId id, Holder& holder, MonotonicTime now) {
  const Lease* lease = find_place(id, holder, now);
  if (lease == nullptr) return false;
  ++holder.held;
  last_served_ = id;
  actions_.emplace_back(SendToExecutor{lease->executor, lease->open_message()});
  return true;
}

WorkerNeeds WorkerBroker::needs_of(const WorkerTerms& terms) {
  return {.tenant = terms.tenant,
          .cores = terms.cores,
          .memory = terms.memory,
          .boot_id = terms.boot_id,
          .constraints = terms.constraints,
          .lifetime = terms.lifetime};
}

/// A lease of one worker: on the holder's own host, or else anywhere that it can reach.
const Lease* WorkerBroker::find_place(HolderId id, Holder& holder, MonotonicTime now) {
  const WorkerTerms& terms = holder.terms;
  LeaseBook::Request request{.holder = id,
                             .needs = needs_of(terms),
                             .where = Capacity::Where::client_host,
                             .client = holder.client};
  if (request.client)
    request.client->expires_in =
        std::max(std::chrono::milliseconds(0),
                 std::chrono::duration_cast<std::chrono::milliseconds>(holder.expires - now));
  LeaseBook::Opening opening = leases_.open(request, now);
  if (!opening.lease && terms.remote) {
    request.where = Capacity::Where::anywhere;
    opening = leases_.open(request, now);
  }
  holder.decision = opening.decision;
  if (holder.client) decisions_.note(holder.client->client_lease, opening.decision);
  if (opening.lease) {
    decisions_.note((*opening.lease)->id, opening.decision);
    return *opening.lease;
  }
  holder.refused_at = capacity_.version();
  return nullptr;
}

bool WorkerBroker::fits(const Executor& executor, const WorkerTerms& terms) const {
  const placement::Constraints& wanted = terms.constraints;
  const bool reachable =
      executor.host.boot_id == terms.boot_id || (terms.remote && !executor.lane_address.empty());
  if (!reachable) return false;
  const auto host = capacity_.placement().host(placement::HostId(executor.host.boot_id));
  if (!host) return false;
  return (wanted.host.empty() || wanted.host == host->host.name) &&
         (wanted.architecture.empty() || wanted.architecture == host->host.architecture) &&
         (!wanted.kind || *wanted.kind == host->host.kind) &&
         std::ranges::all_of(wanted.features, [&](const std::string& feature) {
           return std::ranges::find(host->host.features, feature) != host->host.features.end();
         });
}

std::uint64_t WorkerBroker::cores_wanted() const {
  std::uint64_t cores = 0;
  for (const auto& [id, holder] : holders_)
    cores += std::uint64_t{holder.unmet()} * holder.terms.cores;
  return cores;
}

std::size_t WorkerBroker::largest(const WorkerTerms& terms) const {
  std::map<std::string, placement::CoreSet> counted;  // by host: its executors may offer the same
  std::size_t total = 0;
  for (const auto& [id, executor] : hosts_.executors()) {
    if (!fits(executor, terms)) continue;
    placement::CoreSet& others = counted[executor.host.boot_id];
    const placement::CoreSet own = core_set(executor.host.cores);
    total += (own - others).size() / terms.cores;
    others |= own;
  }
  return total;
}

std::optional<placement::DecisionId> WorkerBroker::decision_for(HolderId id) const {
  const auto found = holders_.find(id);
  return found == holders_.end() ? std::nullopt : found->second.decision;
}

std::string WorkerBroker::refusal_of(HolderId id) const {
  const auto decision = decision_for(id);
  if (!decision) return {};
  const auto explanation = capacity_.placement().explain(*decision);
  return explanation && explanation->refusal ? explanation->refusal->message : std::string();
}

Result<std::vector<placement::Explanation>> WorkerBroker::explain(uid_t tenant,
                                                                  LeaseId lease) const {
  std::vector<placement::Explanation> explanations;
  for (const placement::DecisionId decision : decisions_.find(lease))
    if (auto one = capacity_.placement().explain(decision);
        one && one->request.tenant == placement::TenantId(tenant))
      explanations.push_back(std::move(*one));
  if (!explanations.empty()) return explanations;
  return fail(ErrorCode::not_found,
              "no decision about lease " + to_string(lease) +
                  " is remembered: only the newest are, and none from before the gateway's start");
}

/// Of the holder's own host what holds for workers there, of others what holds anywhere.
std::vector<placement::HostReason> WorkerBroker::consider(const WorkerTerms& terms,
                                                          MonotonicTime now) const {
  const auto findings = [&](Capacity::Where where) {
    return capacity_.placement().consider(Capacity::request_of(needs_of(terms), where), 0, now);
  };
  auto near = findings(Capacity::Where::client_host);
  if (!terms.remote) return near;
  auto far = findings(Capacity::Where::anywhere);
  for (std::size_t i = 0; i < far.size(); ++i)  // of the same grants, in the same order
    if (far[i].host.value() == terms.boot_id) far[i] = std::move(near[i]);
  return far;
}

unsigned WorkerBroker::held_by(HolderId id) const {
  const auto found = holders_.find(id);
  return found == holders_.end() ? 0 : found->second.held;
}

/// Of another tenant nothing is asked back that this one could not have: what is its owner's alone.
bool WorkerBroker::has_for(const LeaseTenant& tenant, HolderId donor) const {
  if (holders_.at(donor).terms.tenant.uid == tenant.uid) return true;
  return std::ranges::any_of(leases_.of_holder(donor), [&](LeaseId id) {
    const Executor* executor = hosts_.find(leases_.find(id)->executor);
    return executor != nullptr && Capacity::serves(*executor, tenant);
  });
}

void WorkerBroker::ask_back(MonotonicTime now) {
  std::size_t incoming = leases_.closing_count();
  for (auto& [id, holder] : holders_) {
    if (holder.asked_back > 0 && now - holder.asked_at >= options_.ask_back_again)
      holder.asked_back = 0;
    incoming += holder.asked_back;
  }
  for (const auto& [poor_id, poor] : holders_) {
    unsigned coming = 0;
    for (unsigned missing = poor.unmet() * poor.terms.cores; missing > 0; --missing) {
      if (incoming > 0) {  // cores that come free without our asking
        --incoming;
        ++coming;
        continue;
      }
      HolderId donor_id;
      Holder* donor = nullptr;
      const auto surplus = [](const Holder& h) {
        return h.lasting() > h.wanted ? h.lasting() - h.wanted : 0;
      };
      for (auto& [id, candidate] : holders_) {
        if (id == poor_id || candidate.lasting() == 0) continue;
        const bool fair = surplus(candidate) > 0 || candidate.lasting() > poor.held + coming + 1 ||
                          poor.held + coming == 0;
        if (!fair || !has_for(poor.terms.tenant, id)) continue;
        const auto rank = [&](const Holder& h) { return std::pair(surplus(h), h.lasting()); };
        if (donor == nullptr || rank(candidate) > rank(*donor)) {
          donor_id = id;
          donor = &candidate;
        }
      }
      if (donor == nullptr) break;
      ++donor->asked_back;
      donor->asked_at = now;
      ++coming;
      actions_.emplace_back(AskBack{donor_id, 1});
    }
  }
}

}  // namespace orchid::gateway
