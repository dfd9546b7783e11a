#include "leases/worker_broker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {

WorkerBroker::WorkerBroker(Options options, Capacity::Options capacity)
    : options_(std::move(options)),
      capacity_(hosts_, std::move(capacity)),
      leases_(options_.epoch, hosts_, capacity_) {}

WorkerTerms WorkerBroker::dispatcher_terms(LeaseTenant tenant) const {
  return {.tenant = std::move(tenant),
          .memory = options_.worker_memory,
          .boot_id = options_.boot_id,
          .remote = options_.remote_dispatch};
}

void WorkerBroker::add_dispatcher(HolderId id, LeaseTenant tenant) {
  holders_[id] = Holder{.terms = dispatcher_terms(std::move(tenant))};
  actions_.emplace_back(TellSupply{id, supply_told_});
}

void WorkerBroker::add_client(HolderId id, WorkerTerms terms, ClientTerms client,
                              MonotonicTime expires) {
  holders_[id] = Holder{.terms = std::move(terms), .client = client, .expires = expires};
}

void WorkerBroker::renew_client(HolderId id, MonotonicTime expires, MonotonicTime now) {
  const auto found = holders_.find(id);
  if (found == holders_.end() || !found->second.client) return;
  found->second.expires = expires;
  const auto expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(expires - now);
  for (const LeaseId lease : leases_.of_holder(id)) {
    leases_.renew(lease, expires_in);
    actions_.emplace_back(
        SendToExecutor{leases_.find(lease)->executor, RenewLease{lease, expires_in}});
  }
}

void WorkerBroker::remove_holder(HolderId id, MonotonicTime now) {
  holders_.erase(id);
  for (const LeaseId lease : leases_.of_holder(id))
    if (leases_.close(lease, now))
      actions_.emplace_back(SendToExecutor{leases_.find(lease)->executor, CloseLease{lease}});
  plan(now);
}

void WorkerBroker::want_workers(HolderId id, unsigned total, MonotonicTime now) {
  const auto found = holders_.find(id);
  if (found == holders_.end()) return;
  found->second.wanted = total;
  plan(now);
}

void WorkerBroker::given_back(HolderId id, LeaseId lease_id, MonotonicTime now) {
  const Lease* lease = leases_.find(lease_id);
  if (lease == nullptr || lease->holder != id || !leases_.close(lease_id, now)) return;
  release_holder(*lease);
  actions_.emplace_back(SendToExecutor{lease->executor, CloseLease{lease_id}});
  plan(now);
}

void WorkerBroker::worker_lost(HolderId id, LeaseId lease, MonotonicTime now) {
  log::warn("event=client_lost_worker lease={}", to_string(lease));
  given_back(id, lease, now);  // what is wanted stays as it is
}

void WorkerBroker::executor_joined(Executor executor, const std::vector<Held>& held,
                                   MonotonicTime now) {
  const ExecutorId id = executor.id;
  log::info("event=executor_joined executor={} host={} cores={} version={}", id.value(),
            executor.host.hostname, executor.host.cores.size(), executor.version);
  const std::string boot_id = executor.host.boot_id;
  for (const ExecutorId& replaced : hosts_.join(std::move(executor))) drop_executor(replaced, now);
  refresh_host(boot_id, now);
  take_over(id, held, now);
  for (ControlMessage& message : leases_.restate(id))
    actions_.emplace_back(SendToExecutor{id, std::move(message)});
  actions_.emplace_back(TellExecutorAnswers{id, true});
  tell_supply();
  plan(now);
}

/// What the executor holds for clients is entered; what an earlier gateway opened there, and it
/// does not hold any more, goes.
void WorkerBroker::take_over(const ExecutorId& id, const std::vector<Held>& held,
                             MonotonicTime now) {
  for (const Held& found : held) {
    const bool is_new = leases_.find(found.lease.lease) == nullptr;
    if (!leases_.adopt(id, found.lease, found.holder, now)) {
      actions_.emplace_back(SendToExecutor{id, CloseLease{found.lease.lease}});
      if (is_new) actions_.emplace_back(TellLeaseEnded{found.holder, found.lease.lease, true});
    } else if (is_new)
      if (const auto known = holders_.find(found.holder); known != holders_.end()) {
        Holder& holder = known->second;
        ++holder.held;
        holder.wanted = std::max(holder.wanted, holder.held);
      }
  }
  std::vector<LeaseId> gone;
  for (const auto& [lease_id, lease] : leases_.leases())
    if (lease.executor == id && lease.secret.empty() &&
        std::ranges::find(held, lease_id, [](const Held& h) { return h.lease.lease; }) ==
            held.end())
      gone.push_back(lease_id);
  for (const LeaseId lease : gone)
    if (const auto ended = leases_.closed(id, lease, now)) lease_ended(id, *ended, false);
}

void WorkerBroker::executor_resumed(const ExecutorId& id, MonotonicTime now) {
  hosts_.resume(id);
  if (const Executor* executor = hosts_.find(id)) refresh_host(executor->host.boot_id, now);
  actions_.emplace_back(TellExecutorAnswers{id, true});
  tell_supply();
  plan(now);
}

void WorkerBroker::executor_lost(const ExecutorId& id, MonotonicTime now) {
  const Executor* executor = hosts_.find(id);
  if (executor == nullptr) return;
  log::warn("event=executor_lost executor={} host={}", id.value(), executor->host.hostname);
  hosts_.lose(id, now);
  refresh_host(executor->host.boot_id, now);
  actions_.emplace_back(TellExecutorAnswers{id, false});
  tell_supply();
  plan(now);
}

void WorkerBroker::executor_said(const ExecutorId& id, const ControlMessage& message,
                                 MonotonicTime now) {
  if (hosts_.find(id) == nullptr) return;
  if (const auto* answer = std::get_if<LeaseOpened>(&message)) {
    opened(id, answer->lease, now);
  } else if (const auto* refused = std::get_if<LeaseRefused>(&message)) {
    if (const auto ended = leases_.refused(id, refused->lease, now)) {
      log::warn("event=lease_refused lease={} code={} message=\"{}\"", to_string(refused->lease),
                to_string(refused->code), refused->message);
      lease_ended(id, *ended, true);
      hosts_.refuse_until(id, now + options_.refusal_pause);
      refresh_host(hosts_.find(id)->host.boot_id, now);
    }
  } else if (const auto* closed = std::get_if<LeaseClosed>(&message)) {
    if (const auto ended = leases_.closed(id, closed->lease, now)) {
      if (ended->lease.state != LeaseState::closing)
        log::info("event=lease_ended lease={} reason={}", to_string(closed->lease),
                  to_string(closed->reason));
      lease_ended(id, *ended, closed->reason == LeaseEnd::reclaimed);
    }
  } else if (const auto* grant = std::get_if<GrantChanged>(&message)) {
    log::info("event=grant_changed executor={} cores={} draining={}", id.value(),
              grant->cores.size(), grant->draining);
    hosts_.change_grant(id, *grant, now);
    refresh_host(hosts_.find(id)->host.boot_id, now);
  } else if (const auto* capacity = std::get_if<CapacityReport>(&message)) {
    hosts_.report(id, *capacity);
  }
  plan(now);
}

void WorkerBroker::clusters_changed(MonotonicTime now) {
  displace(capacity_.refresh_all(now), now);
  plan(now);
}

void WorkerBroker::opened(const ExecutorId& id, LeaseId lease, MonotonicTime now) {
  const auto what = leases_.opened(id, lease, now);
  if (what == LeaseBook::Opened::unwanted)
    actions_.emplace_back(SendToExecutor{id, CloseLease{lease}});
  if (what == LeaseBook::Opened::now) {
    const Lease& opened = *leases_.find(lease);
    actions_.emplace_back(GiveWorker{opened.holder, grant_of(opened)});
  }
}

WorkerGrant WorkerBroker::grant_of(const Lease& lease) const {
  const Executor& executor = *hosts_.find(lease.executor);
  return {.lease = lease.id,
          .secret = lease.secret,
          .executor = lease.executor,
          .lane_socket = executor.lane_socket,
          .lane_address = executor.lane_address,
          .node = executor.host.hostname,
          .boot_id = executor.host.boot_id};
}

void WorkerBroker::tick(MonotonicTime now) {
  for (const ExecutorId& id : hosts_.lost_before(now - options_.forget_lost_after))
    forget_lost(id, now);
  for (const LeaseId id : leases_.opening_since(now - options_.open_within)) {
    release_holder(*leases_.find(id));
    leases_.close(id, now);
    actions_.emplace_back(SendToExecutor{leases_.find(id)->executor, CloseLease{id}});
  }
  for (const ExecutorId& id : hosts_.end_refusals(now))
    refresh_host(hosts_.find(id)->host.boot_id, now);
  displace(capacity_.expire(now), now);
  plan(now);
}

/// What the host book says of a host becomes true for the placement.
void WorkerBroker::refresh_host(const std::string& boot_id, MonotonicTime now) {
  displace(capacity_.refresh(boot_id, now), now);
}

/// Leases that have lost their place end, and their holders get others.
void WorkerBroker::displace(const Capacity::Losses& losses, MonotonicTime now) {
  for (const placement::Displaced& loss : losses)
    if (const auto lease = leases_.displace(loss, now)) {
      log::info("event=lease_displaced lease={} executor={}", to_string(lease->id),
                lease->executor.value());
      end_for_holder(*lease, true);
      actions_.emplace_back(SendToExecutor{lease->executor, CloseLease{lease->id}});
    }
}

std::vector<BrokerAction> WorkerBroker::take_actions() { return std::exchange(actions_, {}); }

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

std::size_t WorkerBroker::largest(const WorkerTerms& terms) const {
  std::map<std::string, std::size_t> by_host;  // its executors may offer the same cores
  for (const auto& [id, executor] : hosts_.executors()) {
    if (!fits(executor, terms)) continue;
    std::size_t& workers = by_host[executor.host.boot_id];
    workers = std::max(workers, executor.host.cores.size() / terms.cores);
  }
  std::size_t total = 0;
  for (const auto& [host, workers] : by_host) total += workers;
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

std::vector<placement::HostReason> WorkerBroker::consider(const WorkerTerms& terms,
                                                          MonotonicTime now) const {
  const bool far = terms.remote;
  return capacity_.placement().consider(
      Capacity::request_of(needs_of(terms),
                           far ? Capacity::Where::anywhere : Capacity::Where::client_host),
      0, now);
}

unsigned WorkerBroker::held_by(HolderId id) const {
  const auto found = holders_.find(id);
  return found == holders_.end() ? 0 : found->second.held;
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
        if (!fair) continue;
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

void WorkerBroker::drop_executor(const ExecutorId& id, MonotonicTime now) {
  for (const Lease& lease : leases_.drop_executor(id, now)) end_for_holder(lease, true);
  actions_.emplace_back(ForgetExecutor{id});
  log::info("event=executor_gone executor={}", id.value());
  tell_supply();
}

/// It has been away for long: its leases end for their holders. But they count until that process
/// is known to be gone or has closed them itself, since it may still have workers on its cores.
void WorkerBroker::forget_lost(const ExecutorId& id, MonotonicTime now) {
  bool has_leases = false;
  std::vector<Lease> given_up;
  for (const auto& [lease_id, lease] : leases_.leases()) {
    if (lease.executor != id) continue;
    has_leases = true;
    // A client speaks to its workers itself, and may still do so.
    if (lease.state != LeaseState::closing && !lease.client) given_up.push_back(lease);
  }
  for (const Lease& lease : given_up) {
    end_for_holder(lease, true);
    leases_.close(lease.id, now);
    actions_.emplace_back(SendToExecutor{id, CloseLease{lease.id}});
  }
  if (has_leases) return;
  const std::string boot_id = hosts_.find(id)->host.boot_id;
  hosts_.remove(id);
  drop_executor(id, now);
  refresh_host(boot_id, now);
}

void WorkerBroker::lease_ended(const ExecutorId& id, const LeaseBook::Ended& ended, bool lost) {
  end_for_holder(ended.lease, lost);
  if (ended.close_again) actions_.emplace_back(SendToExecutor{id, CloseLease{ended.lease.id}});
}

/// For a lease that ends without its holder's doing.
void WorkerBroker::end_for_holder(const Lease& lease, bool lost) {
  if (lease.state == LeaseState::closing) return;
  release_holder(lease);
  // A client that never came, has gone or did not renew needs no other worker in its place.
  if (const auto found = holders_.find(lease.holder);
      !lost && lease.client && found != holders_.end() && found->second.wanted > 0)
    --found->second.wanted;
  if (lease.state == LeaseState::open)
    actions_.emplace_back(TellLeaseEnded{lease.holder, lease.id, lost});
}

void WorkerBroker::release_holder(const Lease& lease) {
  const auto found = holders_.find(lease.holder);
  if (found == holders_.end()) return;
  if (found->second.held > 0) --found->second.held;
  if (found->second.asked_back > 0) --found->second.asked_back;
}

void WorkerBroker::tell_supply() {
  const WorkerTerms terms = dispatcher_terms({});
  const bool exists = std::ranges::any_of(hosts_.executors(), [&](const auto& entry) {
    return entry.second.state == ExecutorState::connected && fits(entry.second, terms);
  });
  if (exists == supply_told_) return;
  supply_told_ = exists;
  for (const auto& [id, holder] : holders_) actions_.emplace_back(TellSupply{id, exists});
}

}  // namespace orchid::gateway
