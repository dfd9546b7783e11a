#include "leases/worker_broker.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"

namespace orchid::gateway {

WorkerBroker::WorkerBroker(Options options, Capacity::Options capacity)
    : options_(std::move(options)),
      capacity_(hosts_, std::move(capacity)),
      leases_(options_.epoch, hosts_, capacity_),
      reservations_(options_.ask_back_again),
      hosts_are_back_(options_.hosts_return_by == MonotonicTime{}) {}

placement::WorkerRequest WorkerBroker::dispatcher_worker(placement::WorkerRequest worker) const {
  for (placement::WorkerShape& shape : worker.alternatives)
    if (shape.memory.value == 0) shape.memory = options_.worker_memory;
  worker.client_host = placement::HostId(options_.boot_id);
  worker.client_host_only = !options_.remote_dispatch;
  return worker;
}

void WorkerBroker::add_dispatcher(HolderId id, LeaseTenant tenant,
                                  placement::WorkerRequest worker) {
  capacity_.welcome(tenant);
  Holder& holder = holders_[id] =
      Holder{.tenant = std::move(tenant), .worker = dispatcher_worker(std::move(worker))};
  holder.supply = supply_for(holder.tenant, holder.worker);
  actions_.emplace_back(TellSupply{id, *holder.supply});
}

void WorkerBroker::add_client(HolderId id, const ClientLeaseRequest& request, LeaseId client_lease,
                              MonotonicTime expires) {
  capacity_.welcome(request.tenant);
  holders_[id] = Holder{.tenant = request.tenant,
                        .worker = request.worker,
                        .client = request.terms(client_lease),
                        .expires = expires};
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
  Holder& holder = found->second;
  if (holder.unmet() == 0) holder.since = now;
  holder.wanted = total;
  holder.count_ahead();
  if (holder.unmet() == 0) {  // who waits next begins anew
    holder.refused.reset();
    holder.forget_failed_reservations();
  }
  plan(now);
}

void WorkerBroker::given_back(HolderId id, LeaseId lease_id, MonotonicTime now) {
  const Lease* lease = leases_.find(lease_id);
  if (lease == nullptr || lease->holder != id || !leases_.close(lease_id, now)) return;
  release_holder(*lease, now);
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
  for (const OfferedGpu& gpu : executor.host.gpus)
    if (!gpu.fault.empty()) executor.gpus_return_by[gpu.index] = now + options_.gpus_return_within;
  HostBook::note_cores(executor, now);
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
        holder.has_one_more(*leases_.find(found.lease.lease), now);
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
    if (const auto ended = leases_.closed(id, lease, now)) lease_ended(id, *ended, false, now);
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
  const bool has_ended = executor->grant.draining && executor->host.cores.empty();
  if (has_ended)
    log::info("event=executor_ended executor={} host={}", id.value(), executor->host.hostname);
  else
    log::warn("event=executor_lost executor={} host={}", id.value(), executor->host.hostname);
  hosts_.lose(id, now);
  for (const Lease& lease : leases_.lose_executor(id, now)) {
    end_for_holder(lease, true, now);
    actions_.emplace_back(SendToExecutor{id, CloseLease{lease.id}});
  }
  refresh_host(executor->host.boot_id, now);
  actions_.emplace_back(TellExecutorAnswers{id, false});
  if (has_ended) remove_executor(id, now);  // it has given its last core back
  tell_supply();
  plan(now);
}

void WorkerBroker::executor_said(const ExecutorId& id, const LeaseOpened& message,
                                 MonotonicTime now) {
  if (hosts_.find(id) == nullptr) return;
  opened(id, message.lease, now);
  plan(now);
}

void WorkerBroker::executor_said(const ExecutorId& id, const LeaseRefused& message,
                                 MonotonicTime now) {
  if (hosts_.find(id) == nullptr) return;
  if (const auto ended = leases_.refused(id, message.lease, now)) {
    log::warn("event=lease_refused lease={} code={} message=\"{}\"", to_string(message.lease),
              to_string(message.code), message.message);
    lease_ended(id, *ended, true, now);
    hosts_.refuse_until(id, now + options_.refusal_pause);
    refresh_host(hosts_.find(id)->host.boot_id, now);
  }
  plan(now);
}

void WorkerBroker::executor_said(const ExecutorId& id, const LeaseClosed& message,
                                 MonotonicTime now) {
  if (hosts_.find(id) == nullptr) return;
  if (const auto ended = leases_.closed(id, message.lease, now)) {
    if (ended->lease.state != LeaseState::closing)
      log::info("event=lease_ended lease={} reason={}", to_string(message.lease),
                to_string(message.reason));
    lease_ended(id, *ended, message.reason == LeaseEnd::reclaimed, now);
  }
  plan(now);
}

void WorkerBroker::executor_said(const ExecutorId& id, const CapacityReport& message,
                                 MonotonicTime now) {
  if (hosts_.find(id) == nullptr) return;
  hosts_.report(id, message);
  if (message.milliwatts)
    capacity_.report_power(hosts_.find(id)->host.boot_id, *message.milliwatts);
  plan(now);
}

/// What the executor does not offer any more it ends itself, and says so of each lease: in the
/// meantime calls may end, and their callers hear why.
void WorkerBroker::executor_said(const ExecutorId& id, const GrantChanged& grant,
                                 MonotonicTime now) {
  if (hosts_.find(id) == nullptr) return;
  log::info("event=grant_changed executor={} cores={} draining={}", id.value(), grant.cores.size(),
            grant.draining);
  if (grant.gpus) look_at_faults(*hosts_.find(id), *grant.gpus, now);
  hosts_.change_grant(id, grant, now);
  Capacity::Losses others;
  for (placement::Displaced& loss : capacity_.refresh(hosts_.find(id)->host.boot_id, now)) {
    const Lease* lease = leases_.of_decision(loss.lease);
    if (lease != nullptr && lease->executor == id)
      leases_.lose_place(loss);
    else
      others.push_back(std::move(loss));
  }
  displace(others, now);
  tell_supply();
  plan(now);
}

void WorkerBroker::clusters_changed(const TouchedNodes& nodes, MonotonicTime now) {
  displace(capacity_.refresh_facts(hosts_.boot_ids_of(nodes), now), now);
  tell_supply();
  plan(now);
}

void WorkerBroker::opened(const ExecutorId& id, LeaseId lease, MonotonicTime now) {
  const auto what = leases_.opened(id, lease, now);
  if (what == LeaseBook::Opened::unwanted)
    actions_.emplace_back(SendToExecutor{id, CloseLease{lease}});
  if (what == LeaseBook::Opened::now) {
    const Lease& opened = *leases_.find(lease);
    actions_.emplace_back(GiveWorker{opened.holder, grant_of(opened)});
    if (const auto holder = holders_.find(opened.holder); holder != holders_.end())
      holder->second.refused.reset();
  }
}

WorkerGrant WorkerBroker::grant_of(const Lease& lease) const {
  const Executor& executor = *hosts_.find(lease.executor);
  return {.lease = lease.id,
          .secret = lease.secret,
          .executor = lease.executor,
          .lane_socket = executor.lane_socket,
          .lane_address = executor.lane_address,
          .node = capacity_.host_name(executor),
          .boot_id = executor.host.boot_id,
          .cores = lease.cores_per_worker,
          .memory = lease.memory,
          .gpus = lease.gpus,
          .gpu_model = capacity_.gpu_model(executor.host.boot_id, lease.gpus),
          .lane_protocol = executor.lane_protocol};
}

void WorkerBroker::tick(MonotonicTime now) {
  if (!hosts_are_back_ && now >= options_.hosts_return_by) {
    hosts_are_back_ = true;
    tell_supply();
  }
  const bool has_fewer_gpus = hosts_.end_waits_for_gpus(now);
  if (hosts_.find_bare(now - options_.cores_return_within) || has_fewer_gpus) tell_supply();
  for (const ExecutorId& id : hosts_.lost_before(now - options_.forget_lost_after))
    forget_lost(id, now);
  for (const LeaseId id : leases_.opening_since(now - options_.open_within)) {
    release_holder(*leases_.find(id), now);
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
      end_for_holder(*lease, true, now);
      actions_.emplace_back(SendToExecutor{lease->executor, CloseLease{lease->id}});
    }
}

std::vector<BrokerAction> WorkerBroker::take_actions() { return std::exchange(actions_, {}); }

void WorkerBroker::drop_executor(const ExecutorId& id, MonotonicTime now) {
  for (const Lease& lease : leases_.drop_executor(id, now)) end_for_holder(lease, true, now);
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
    end_for_holder(lease, true, now);
    leases_.close(lease.id, now);
    actions_.emplace_back(SendToExecutor{id, CloseLease{lease.id}});
  }
  if (!has_leases) remove_executor(id, now);
}

void WorkerBroker::remove_executor(const ExecutorId& id, MonotonicTime now) {
  const std::string boot_id = hosts_.find(id)->host.boot_id;
  hosts_.remove(id);
  drop_executor(id, now);
  refresh_host(boot_id, now);
}

void WorkerBroker::lease_ended(const ExecutorId& id, const LeaseBook::Ended& ended, bool lost,
                               MonotonicTime now) {
  end_for_holder(ended.lease, lost, now);
  if (ended.close_again) actions_.emplace_back(SendToExecutor{id, CloseLease{ended.lease.id}});
}

/// For a lease that ends without its holder's doing.
void WorkerBroker::end_for_holder(const Lease& lease, bool lost, MonotonicTime now) {
  if (lease.state == LeaseState::closing) return;
  release_holder(lease, now);
  // A client that never came, has gone or did not renew needs no other worker in its place.
  if (const auto found = holders_.find(lease.holder);
      !lost && lease.client && found != holders_.end() && found->second.wanted > 0)
    --found->second.wanted;
  if (lease.state == LeaseState::open)
    actions_.emplace_back(TellLeaseEnded{lease.holder, lease.id, lost});
}

void WorkerBroker::release_holder(const Lease& lease, MonotonicTime now) {
  const auto found = holders_.find(lease.holder);
  if (found == holders_.end()) return;
  found->second.has_one_less(lease, now);
  if (found->second.asked_back > 0) --found->second.asked_back;
}

void WorkerBroker::tell_supply() {
  for (auto& [id, holder] : holders_) {
    if (!holder.supply) continue;
    Supply supply = supply_for(holder.tenant, holder.worker);
    if (supply == *holder.supply) continue;
    holder.supply = supply;
    actions_.emplace_back(TellSupply{id, std::move(supply)});
  }
}

bool WorkerBroker::has_supply(placement::WorkerRequest worker) const {
  return supply_for({}, dispatcher_worker(std::move(worker))).exists;
}

}  // namespace orchid::gateway
