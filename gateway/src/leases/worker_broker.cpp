#include "leases/worker_broker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {

WorkerBroker::WorkerBroker(Options options)
    : options_(std::move(options)), leases_(options_.epoch, hosts_) {}

void WorkerBroker::add_dispatcher(DispatcherId id, LeaseTenant tenant) {
  holders_[id] = Holder{.tenant = std::move(tenant)};
  actions_.emplace_back(TellSupply{id, supply_told_});
}

void WorkerBroker::remove_dispatcher(DispatcherId id, MonotonicTime now) {
  holders_.erase(id);
  std::vector<LeaseId> held;
  for (const auto& [lease_id, lease] : leases_.leases())
    if (lease.holder == id) held.push_back(lease_id);
  for (const LeaseId lease : held)
    if (leases_.close(lease, now))
      actions_.emplace_back(SendToExecutor{leases_.find(lease)->executor, CloseLease{lease}});
  plan(now);
}

void WorkerBroker::want_workers(DispatcherId id, unsigned total, MonotonicTime now) {
  const auto found = holders_.find(id);
  if (found == holders_.end()) return;
  found->second.wanted = total;
  plan(now);
}

void WorkerBroker::given_back(DispatcherId id, LeaseId lease_id, MonotonicTime now) {
  const Lease* lease = leases_.find(lease_id);
  if (lease == nullptr || lease->holder != id || !leases_.close(lease_id, now)) return;
  release_holder(*lease);
  actions_.emplace_back(SendToExecutor{lease->executor, CloseLease{lease_id}});
  plan(now);
}

void WorkerBroker::executor_joined(Executor executor, MonotonicTime now) {
  const ExecutorId id = executor.id;
  log::info("event=executor_joined executor={} host={} cores={} version={}", id.value(),
            executor.host.hostname, executor.host.cores.size(), executor.version);
  for (const ExecutorId& replaced : hosts_.join(std::move(executor))) drop_executor(replaced);
  pause_until_.erase(id);
  for (ControlMessage& message : leases_.restate(id))
    actions_.emplace_back(SendToExecutor{id, std::move(message)});
  actions_.emplace_back(TellExecutorAnswers{id, true});
  tell_supply();
  plan(now);
}

void WorkerBroker::executor_resumed(const ExecutorId& id, MonotonicTime now) {
  hosts_.resume(id);
  actions_.emplace_back(TellExecutorAnswers{id, true});
  tell_supply();
  plan(now);
}

void WorkerBroker::executor_lost(const ExecutorId& id, MonotonicTime now) {
  const Executor* executor = hosts_.find(id);
  if (executor == nullptr) return;
  log::warn("event=executor_lost executor={} host={}", id.value(), executor->host.hostname);
  hosts_.lose(id, now);
  actions_.emplace_back(TellExecutorAnswers{id, false});
  tell_supply();
  plan(now);
}

void WorkerBroker::executor_said(const ExecutorId& id, const ControlMessage& message,
                                 MonotonicTime now) {
  const Executor* executor = hosts_.find(id);
  if (executor == nullptr) return;
  if (const auto* opened = std::get_if<LeaseOpened>(&message)) {
    const auto what = leases_.opened(id, opened->lease, now);
    if (what == LeaseBook::Opened::unwanted)
      actions_.emplace_back(SendToExecutor{id, CloseLease{opened->lease}});
    if (what == LeaseBook::Opened::now) {
      const Lease* lease = leases_.find(opened->lease);
      actions_.emplace_back(GiveWorker{lease->holder,
                                       {.lease = lease->id,
                                        .secret = lease->secret,
                                        .executor = id,
                                        .lane_socket = executor->lane_socket,
                                        .node = executor->host.hostname}});
    }
  } else if (const auto* refused = std::get_if<LeaseRefused>(&message)) {
    if (const auto ended = leases_.refused(id, refused->lease, now)) {
      log::warn("event=lease_refused lease={} code={} message=\"{}\"", to_string(refused->lease),
                to_string(refused->code), refused->message);
      lease_ended(id, *ended);
      pause_until_[id] = now + options_.refusal_pause;
    }
  } else if (const auto* closed = std::get_if<LeaseClosed>(&message)) {
    if (const auto ended = leases_.closed(id, closed->lease, now)) {
      if (ended->lease.state != LeaseState::closing)
        log::info("event=lease_ended lease={} reason={}", to_string(closed->lease),
                  to_string(closed->reason));
      lease_ended(id, *ended);
    }
  } else if (const auto* capacity = std::get_if<CapacityReport>(&message)) {
    hosts_.report(id, *capacity);
  }
  plan(now);
}

void WorkerBroker::tick(MonotonicTime now) {
  for (const ExecutorId& id : hosts_.lost_before(now - options_.forget_lost_after))
    forget_lost(id, now);
  for (const LeaseId id : leases_.opening_since(now - options_.open_within)) {
    release_holder(*leases_.find(id));
    leases_.close(id, now);
    actions_.emplace_back(SendToExecutor{leases_.find(id)->executor, CloseLease{id}});
  }
  std::erase_if(pause_until_, [now](const auto& entry) { return entry.second <= now; });
  plan(now);
}

std::vector<BrokerAction> WorkerBroker::take_actions() { return std::exchange(actions_, {}); }

void WorkerBroker::plan(MonotonicTime now) {
  while (open_one(now)) {
  }
  ask_back(now);
}

bool WorkerBroker::open_one(MonotonicTime now) {
  DispatcherId poorest;
  const Holder* holder = nullptr;
  for (const auto& [id, candidate] : holders_) {
    if (candidate.unmet() == 0) continue;
    // Among equals, the first one after the last that was served.
    const auto rank = [this](const DispatcherId& d, const Holder& h) {
      return std::tuple(h.held, d <= last_served_, d);
    };
    if (holder == nullptr || rank(id, candidate) < rank(poorest, *holder)) {
      poorest = id;
      holder = &candidate;
    }
  }
  if (holder == nullptr) return false;
  const auto executor = freest_executor(now);
  if (!executor) return false;
  const auto lease = leases_.open({.executor = *executor,
                                   .holder = poorest,
                                   .tenant = holder->tenant,
                                   .memory = options_.worker_memory},
                                  now);
  if (!lease) return false;
  ++holders_[poorest].held;
  last_served_ = poorest;
  actions_.emplace_back(SendToExecutor{*executor, (*lease)->open_message()});
  return true;
}

std::optional<ExecutorId> WorkerBroker::freest_executor(MonotonicTime now) const {
  std::optional<ExecutorId> best;
  std::size_t most = 0;
  for (const auto& [id, executor] : hosts_.executors()) {
    if (!usable(executor)) continue;
    if (const auto pause = pause_until_.find(id);
        pause != pause_until_.end() && now < pause->second)
      continue;
    if (const std::size_t free = leases_.cores_free(id); free > most) {
      most = free;
      best = id;
    }
  }
  return best;
}

bool WorkerBroker::usable(const Executor& executor) const {
  return executor.state == ExecutorState::connected && executor.host.boot_id == options_.boot_id;
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
    for (unsigned missing = poor.unmet(); missing > 0; --missing) {
      if (incoming > 0) {  // cores that come free without our asking
        --incoming;
        ++coming;
        continue;
      }
      DispatcherId donor_id;
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

void WorkerBroker::drop_executor(const ExecutorId& id) {
  for (const Lease& lease : leases_.drop_executor(id)) {
    end_for_holder(lease);
  }
  pause_until_.erase(id);
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
    if (lease.state != LeaseState::closing) given_up.push_back(lease);
  }
  for (const Lease& lease : given_up) {
    end_for_holder(lease);
    leases_.close(lease.id, now);
    actions_.emplace_back(SendToExecutor{id, CloseLease{lease.id}});
  }
  if (has_leases) return;
  hosts_.remove(id);
  drop_executor(id);
}

void WorkerBroker::lease_ended(const ExecutorId& id, const LeaseBook::Ended& ended) {
  end_for_holder(ended.lease);
  if (ended.close_again) actions_.emplace_back(SendToExecutor{id, CloseLease{ended.lease.id}});
}

/// For a lease that ends without its holder's doing.
void WorkerBroker::end_for_holder(const Lease& lease) {
  if (lease.state == LeaseState::closing) return;
  release_holder(lease);
  if (lease.state == LeaseState::open)
    actions_.emplace_back(TellLeaseEnded{lease.holder, lease.id});
}

void WorkerBroker::release_holder(const Lease& lease) {
  const auto found = holders_.find(lease.holder);
  if (found == holders_.end()) return;
  if (found->second.held > 0) --found->second.held;
  if (found->second.asked_back > 0) --found->second.asked_back;
}

void WorkerBroker::tell_supply() {
  const bool exists = std::ranges::any_of(
      hosts_.executors(), [this](const auto& entry) { return usable(entry.second); });
  if (exists == supply_told_) return;
  supply_told_ = exists;
  for (const auto& [id, holder] : holders_) actions_.emplace_back(TellSupply{id, exists});
}

}  // namespace orchid::gateway
