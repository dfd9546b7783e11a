// worker_broker_plan.cpp: who gets a worker next, and where; and what is said of such decisions
// afterwards.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "leases/worker_broker.h"
#include "protocol/lane_protocol.h"

namespace orchid::gateway {

void WorkerBroker::plan(MonotonicTime now) {
  end_reservations(now);
  while (open_one(now)) {
  }
  reserve(now);
  ask_back(now);
}

/// The poorest holder of the poorest tenant that wants more and can have it gets one; among equals
/// who has waited longest, and then the first one after the last that was served.
bool WorkerBroker::open_one(MonotonicTime now) {
  std::vector<std::tuple<double, unsigned, MonotonicTime, bool, HolderId>> wanting;
  for (const auto& [id, holder] : holders_)
    if (holder.unmet() > 0 && (holder.refused_at != capacity_.version() ||
                               (holder.kept_out && may_pass_any(holder, now))))
      wanting.emplace_back(capacity_.share(holder.tenant, now), holder.held, holder.since,
                           id <= last_served_, id);
  std::ranges::sort(wanting);
  return std::ranges::any_of(wanting, [&](const auto& entry) {
    const HolderId id = std::get<HolderId>(entry);
    return open_for(id, holders_.at(id), now);
  });
}

/// It is not wanted, so that it is the first that somebody else is given: see ask_back().
void WorkerBroker::spare_worker(HolderId id, MonotonicTime now) {
  const auto found = holders_.find(id);
  if (found == holders_.end() || found->second.client) return;
  Holder& holder = found->second;
  if (holder.unmet() > 0 || holder.held > holder.wanted ||
      ahead_of(holder.tenant) >= options_.workers_ahead)
    return;
  // What it wants was not refused, and nothing is to be told of that.
  const auto before = std::tuple(holder.refused_at, holder.decision, holder.over_quota);
  if (open_for(id, holder, now, waited_for()))
    ++holder.ahead;
  else
    std::tie(holder.refused_at, holder.decision, holder.over_quota) = before;
}

unsigned WorkerBroker::ahead_of(const LeaseTenant& tenant) const {
  unsigned ahead = 0;
  for (const auto& [id, holder] : holders_)
    if (holder.tenant.uid == tenant.uid) ahead += holder.ahead;
  return ahead;
}

/// Hosts where somebody who waits could have a worker.
WorkerBroker::HostNames WorkerBroker::waited_for() const {
  HostNames names;
  for (const auto& [executor_id, executor] : hosts_.executors()) {
    const auto waits_here = [&, &executor = executor](const auto& entry) {
      const Holder& holder = entry.second;
      return holder.unmet() > 0 && !holder.over_quota && could_give(executor, holder.worker) &&
             Capacity::serves(executor, holder.tenant);
    };
    const placement::Host* host =
        capacity_.placement().description(placement::HostId(executor.host.boot_id));
    if (host != nullptr && std::ranges::any_of(holders_, waits_here)) names.push_back(host->name);
  }
  return names;
}

bool WorkerBroker::open_for(HolderId id, Holder& holder, MonotonicTime now,
                            const HostNames& avoid) {
  const Lease* lease = find_place(id, holder, now, avoid);
  if (lease == nullptr) return false;
  holder.has_one_more(*lease, now);
  holder.forget_failed_reservations();
  last_served_ = id;
  actions_.emplace_back(SendToExecutor{lease->executor, lease->open_message()});
  served(id, *lease, now);
  return true;
}

void WorkerBroker::Holder::has_one_more(const Lease& lease, MonotonicTime now) {
  ++held;
  ++held_at[lease.executor];
  cores += lease.cores();
  since = now;
}

void WorkerBroker::Holder::has_one_less(const Lease& lease, MonotonicTime now) {
  if (held > 0) {
    --held;
    if (held == 0) since = now;
  }
  cores -= std::min(cores, lease.cores());
  count_ahead();
  const auto here = held_at.find(lease.executor);
  if (here != held_at.end() && --here->second == 0) held_at.erase(here);
}

/// They have told of what it waited for then.
void WorkerBroker::Holder::forget_failed_reservations() {
  reserves_again = {};
  reserves_for = first_reservation;
}

/// A lease of one worker: on the holder's own host, or else anywhere that it can reach.
const Lease* WorkerBroker::find_place(HolderId id, Holder& holder, MonotonicTime now,
                                      const HostNames& avoid) {
  LeaseBook::Owner owner{.holder = id, .tenant = holder.tenant, .client = holder.client};
  if (owner.client)
    owner.client->expires_in =
        std::max(std::chrono::milliseconds(0),
                 std::chrono::duration_cast<std::chrono::milliseconds>(holder.expires - now));
  placement::Request request = request_of(holder);
  request.worker.avoid_host.insert(request.worker.avoid_host.end(), avoid.begin(), avoid.end());
  keep_out(id, holder, request.worker, now);
  if (!request.worker.client_host_only) request.has = hosts_of(holder);
  Decisions refusals;
  const LeaseBook::Opening opening = open_first(owner, std::move(request), refusals, now);
  holder.decision = opening.decision;
  holder.over_quota = !opening.lease && opening.lease.error().code == ErrorCode::quota;
  if (holder.client) note(holder.client->client_lease, opening.decision);
  if (opening.lease) {
    note((*opening.lease)->id, opening.decision);
    return *opening.lease;
  }
  holder.refused_at = capacity_.version();
  if (!holder.client && holder.unmet() > 0) remember_refusals(id, holder, refusals);
  return nullptr;
}

placement::Request WorkerBroker::request_of(const Holder& holder) const {
  placement::Request request{.tenant = tenant_of(holder.tenant), .worker = holder.worker};
  if (holder.client)
    request.worker =
        where_lanes_speak(lane_protocol_for(*holder.client), std::move(request.worker));
  return request;
}

placement::WorkerRequest WorkerBroker::where_lanes_speak(std::uint32_t protocol,
                                                         placement::WorkerRequest worker) const {
  if (protocol <= shared_lane_protocol) return worker;
  for (const auto& [id, executor] : hosts_.executors())
    if (executor.lane_protocol < protocol ||
        (protocol == spread_crew_lane_protocol && executor.lane_address.empty()))
      if (const placement::Host* host =
              capacity_.placement().description(placement::HostId(executor.host.boot_id)))
        worker.avoid_host.push_back(host->name);
  return worker;
}

std::vector<std::pair<placement::HostId, std::uint32_t>> WorkerBroker::hosts_of(
    const Holder& holder) const {
  std::map<std::string, std::uint32_t> counted;
  for (const auto& [id, workers] : holder.held_at)
    if (const Executor* executor = hosts_.find(id)) counted[executor->host.boot_id] += workers;
  std::vector<std::pair<placement::HostId, std::uint32_t>> hosts;
  for (const auto& [boot_id, workers] : counted)
    hosts.emplace_back(placement::HostId(boot_id), workers);
  return hosts;
}

/// So that a call that waits in vain can say why: under the id of a lease that there will not be.
void WorkerBroker::remember_refusals(HolderId id, Holder& holder, const Decisions& refusals) {
  if (!holder.refused) {
    holder.refused = leases_.next_id();
    actions_.emplace_back(TellRefused{id, *holder.refused});
  }
  decisions_.forget(*holder.refused);  // only how it is now
  for (const placement::DecisionId decision : refusals) note(*holder.refused, decision);
}

/// A better alternative elsewhere comes before a lesser one on the holder's own host. The last
/// refusal speaks of all of them. All of them come into `refusals`.
LeaseBook::Opening WorkerBroker::open_first(const LeaseBook::Owner& owner,
                                            placement::Request request, Decisions& refusals,
                                            MonotonicTime now) {
  const auto open = [&] {
    LeaseBook::Opening opening = leases_.open(owner, request, now);
    if (!opening.lease) refusals.push_back(opening.decision);
    return opening;
  };
  placement::WorkerRequest& worker = request.worker;
  if (worker.client_host_only) return open();
  const std::vector<placement::WorkerShape> all = worker.alternatives;
  for (std::size_t i = 0;; ++i) {
    worker.alternatives = {all[i]};
    worker.client_host_only = true;
    LeaseBook::Opening opening = open();
    if (opening.lease) return opening;
    const bool last = i + 1 == all.size();
    if (last) worker.alternatives = all;
    worker.client_host_only = false;
    opening = open();
    if (opening.lease || last) return opening;
    if (owner.client) note(owner.client->client_lease, opening.decision);
  }
}

void WorkerBroker::note(LeaseId lease, placement::DecisionId decision) {
  decisions_.note(lease, decision, capacity_.placement());
}

bool WorkerBroker::fits(const Executor& executor, const placement::WorkerRequest& worker) const {
  if (!worker.data_at.value().empty() && worker.data_at.value() != executor.id.value())
    return false;
  const bool reachable = executor.host.boot_id == worker.client_host.value() ||
                         (!worker.client_host_only && !executor.lane_address.empty());
  if (!reachable) return false;
  const placement::Host* host =
      capacity_.placement().description(placement::HostId(executor.host.boot_id));
  return host != nullptr && placement::misfit_of({host->name, host->cluster, host->architecture,
                                                  host->kind, host->features},
                                                 worker) == placement::Reason::fits;
}

/// Nothing: it wants nothing, or new capacity would not help it: its data stays where it is.
std::optional<placement::WorkerDemand> WorkerBroker::demand_of(const Holder& holder) const {
  if (holder.unmet() == 0 || holder.over_quota) return std::nullopt;
  if (!holder.worker.data_at.value().empty()) return std::nullopt;
  placement::WorkerDemand demand{.workers = holder.unmet(), .worker = holder.worker};
  placement::WorkerRequest& worker = demand.worker;
  std::erase_if(worker.alternatives, [&](const placement::WorkerShape& shape) {
    return is_beyond_quota(holder, shape);
  });
  if (worker.alternatives.empty()) return std::nullopt;
  if (worker.client_host_only) {
    const placement::Host* own = capacity_.placement().description(worker.client_host);
    if (own == nullptr) return std::nullopt;  // nobody knows what its host is called
    if (worker.host.empty()) worker.host = own->name;
  }
  // What a new host's executor can do nothing about makes no demand another one.
  worker.client_host = {};
  worker.client_host_only = false;
  worker.watts_at_most.reset();
  return demand;
}

std::vector<placement::WorkerDemand> WorkerBroker::demand() const {
  std::vector<placement::WorkerDemand> all;
  const auto add = [&](std::optional<placement::WorkerDemand> one) {
    if (!one) return;
    const auto alike = std::ranges::find(all, one->worker, &placement::WorkerDemand::worker);
    if (alike == all.end())
      all.push_back(std::move(*one));
    else
      alike->workers += one->workers;
  };
  for (const auto& [id, holder] : holders_) add(demand_of(holder));
  if (!kept_back_) return all;
  for (auto& [tenant, rows] : kept_back_())
    for (placement::WorkerDemand& row : rows)
      add(demand_of({.tenant = {.uid = tenant, .name = {}},
                     .worker = dispatcher_worker(std::move(row.worker)),
                     .wanted = row.workers}));
  return all;
}

std::size_t WorkerBroker::largest(const placement::WorkerRequest& worker) const {
  struct Counted {
    placement::CoreSet cores;
    placement::CoreSet gpus;
    std::vector<std::uint32_t> by_shape;  // workers, if all were so
    std::uint32_t most = 0;               // whatever GPUs there are
  };
  const auto& shapes = worker.alternatives;
  std::map<std::string, Counted> counted;  // by host: its executors may offer the same
  std::vector<const Executor*> fitting;
  for (const auto& [id, executor] : hosts_.executors())
    if (fits(executor, worker)) fitting.push_back(&executor);
  // A core that several of them offer counts where there are GPUs beside it.
  std::ranges::stable_sort(fitting, std::ranges::greater{},
                           [](const Executor* executor) { return executor->host.gpus.size(); });
  for (const Executor* const fits_here : fitting) {
    const Executor& executor = *fits_here;
    Counted& host = counted[executor.host.boot_id];
    host.by_shape.resize(shapes.size());
    const placement::CoreSet cores = core_set(executor.host.cores);
    const placement::CoreSet gpus = gpu_set(executor.host);
    const std::uint32_t own = (cores - host.cores).size();
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::uint32_t workers = own / shapes[i].cores;
      most = std::max(most, workers);
      host.by_shape[i] += std::min(workers, workers_with_gpus(executor.host, gpus, shapes[i]));
    }
    host.most += most;
    host.cores |= cores;
    host.gpus |= gpus;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      host.by_shape[i] =
          std::min(host.by_shape[i], workers_with_gpus(executor.host, host.gpus, shapes[i]));
  }
  std::size_t total = 0;
  for (const auto& [boot_id, host] : counted) {
    const std::size_t all =
        std::accumulate(host.by_shape.begin(), host.by_shape.end(), std::size_t{0});
    total += std::min<std::size_t>(all, host.most);
  }
  return total;
}

/// How many of them so many GPUs are enough for.
std::uint32_t WorkerBroker::workers_with_gpus(const HostDescription& host,
                                              const placement::CoreSet& gpus,
                                              const placement::WorkerShape& shape) const {
  if (shape.gpus == 0) return std::numeric_limits<std::uint32_t>::max();
  return capacity_.count_gpus(host.boot_id, gpus, shape.gpu_model) / shape.gpus;
}

std::optional<placement::DecisionId> WorkerBroker::decision_for(HolderId id) const {
  const auto found = holders_.find(id);
  return found == holders_.end() ? std::nullopt : found->second.decision;
}

std::optional<placement::Refusal> WorkerBroker::refusal_of(HolderId id) const {
  const auto decision = decision_for(id);
  if (!decision) return std::nullopt;
  const auto explanation = capacity_.placement().explain(*decision);
  return explanation ? explanation->refusal : std::nullopt;
}

std::string WorkerBroker::note_refusal(LeaseId client_lease, const ClientLeaseRequest& asked,
                                       MonotonicTime now) {
  capacity_.welcome(asked.tenant);
  placement::Request request{
      .tenant = tenant_of(asked.tenant), .workers = asked.at_least, .worker = asked.worker};
  for (const bool client_host_only : {true, false}) {
    request.worker.client_host_only = client_host_only;
    if (client_host_only ? asked.worker.client_host.value().empty() : asked.worker.client_host_only)
      continue;
    note(client_lease, capacity_.try_out(request, now).id);
  }
  request.worker = asked.worker;
  std::map<placement::Reason, std::size_t> counted;
  const auto last = static_cast<std::uint32_t>(asked.worker.alternatives.size() - 1);
  for (const placement::HostReason& finding : consider(std::move(request), now, last))
    ++counted[finding.reason];
  placement::Tally tally;
  for (const auto& [reason, grants] : counted) tally.counts.push_back({reason, grants});
  return placement::summary_of(tally);
}

Result<std::vector<placement::Explanation>> WorkerBroker::explain(uid_t tenant,
                                                                  LeaseId lease) const {
  std::vector<placement::Explanation> explanations;
  for (const placement::DecisionId decision : decisions_.find(lease))
    if (auto one = capacity_.placement().explain(decision);
        one && one->request.tenant == placement::TenantId(tenant))
      explanations.push_back(std::move(*one));
  if (!explanations.empty()) return explanations;
  return fail(ErrorCode::not_found, "the decisions about lease " + to_string(lease) +
                                        " are not kept: the gateway keeps those of the newest "
                                        "leases that have ended, and none from before its start");
}

/// Of the holder's own host what holds for workers there, of others what holds anywhere.
std::vector<placement::HostReason> WorkerBroker::consider(placement::Request request,
                                                          MonotonicTime now,
                                                          std::uint32_t alternative) const {
  const bool elsewhere_too = !std::exchange(request.worker.client_host_only, true);
  auto near = capacity_.placement().consider(request, alternative, now);
  if (!elsewhere_too) return near;
  request.worker.client_host_only = false;
  auto far = capacity_.placement().consider(request, alternative, now);
  for (std::size_t i = 0; i < far.size(); ++i)  // of the same grants, in the same order
    if (far[i].host == request.worker.client_host) far[i] = std::move(near[i]);
  return far;
}

unsigned WorkerBroker::held_by(HolderId id) const {
  const auto found = holders_.find(id);
  return found == holders_.end() ? 0 : found->second.held;
}

}  // namespace orchid::gateway
