#include "leases/client_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/log.h"
#include "hosts/capacity.h"

namespace orchid::gateway {

using std::chrono::milliseconds;

namespace {

/// Beyond a lease's end: the executor ends it, and says so.
constexpr milliseconds forget_after{5'000};

milliseconds time_left(MonotonicTime end, MonotonicTime now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - now));
}

/// What an executor has told of a lease's worker.
placement::WorkerShape shape_of(const LeaseHeld& lease, const Executor& executor) {
  placement::WorkerShape shape{.cores = lease.cores_per_worker,
                               .memory = lease.memory,
                               .gpus = static_cast<std::uint32_t>(lease.gpus.size())};
  for (const OfferedGpu& gpu : executor.host.gpus)
    if (!lease.gpus.empty() && gpu.index == lease.gpus.front()) shape.gpu_model = gpu.model;
  return shape;
}

Result<void> check_duration(milliseconds duration) {
  if (duration >= ClientLeases::shortest && duration <= ClientLeases::longest) return {};
  return fail(ErrorCode::bad_request, "a lease lasts from 1 s to 24 h; it is renewed while needed");
}

}  // namespace

Result<void> ClientLeases::check(const ClientLeaseRequest& request) const {
  const auto& alternatives = request.worker.alternatives;
  if (request.workers == 0 || alternatives.empty() ||
      std::ranges::any_of(alternatives, [](const auto& shape) { return shape.cores == 0; }))
    return fail(ErrorCode::bad_request, "a lease needs at least one worker with one core");
  if (request.at_least == 0 || request.at_least > request.workers)
    return fail(ErrorCode::bad_request, "at_least must be from 1 to the number of workers");
  if (auto good = check_duration(request.duration); !good) return good;
  std::size_t held = 0;
  for (const auto& [id, lease] : leases_)
    if (lease.request.tenant.uid == request.tenant.uid) held += lease.request.workers;
  if (workers_per_tenant_ != 0 && held + request.workers > workers_per_tenant_)
    return fail(ErrorCode::quota,
                fmt::format("your leases hold {} of the {} workers that a user may have: {}", held,
                            workers_per_tenant_,
                            held < workers_per_tenant_
                                ? fmt::format("ask for at most {}, or release a lease",
                                              workers_per_tenant_ - held)
                                : "release a lease first"));
  if (const auto beyond =
          broker_.capacity().beyond_quota(request.tenant, request.worker, request.at_least))
    return fail(ErrorCode::quota, "the tenant's quota: " + *beyond);
  return {};
}

/// Whether what there is could ever be enough.
Result<void> ClientLeases::check_room(LeaseId id, const ClientLeaseRequest& request,
                                      MonotonicTime now) {
  if (broker_.grows()) return {};
  const std::uint32_t protocol = lane_protocol_for(request.terms(id));
  const std::size_t largest = broker_.largest(broker_.where_lanes_speak(protocol, request.worker));
  if (request.at_least <= largest) return {};
  if (request.crew_spreads && request.at_least <= broker_.largest(request.worker))
    return fail(
        ErrorCode::unsupported,
        "executors that the crew needs are older than this gateway, or take nobody of other "
        "hosts, and cannot be parts of a crew on several hosts: update them, start them "
        "with --lane-listen, or ask for a crew on one host");
  if (request.crew && request.at_least <= broker_.largest(request.worker))
    return fail(ErrorCode::unsupported,
                "the executor of this host is older than this gateway and forms no crews: update "
                "it, or ask without 'crew'");
  if (request.separate_processes && request.at_least <= broker_.largest(request.worker))
    return fail(ErrorCode::unsupported,
                "executors that the lease needs are older than this gateway and cannot keep its "
                "modules in separate processes: update them, or ask without 'separate_processes'");
  const std::string why = broker_.note_refusal(id, request, now);
  if (const std::string missing =
          request.worker.images.empty() ? "" : broker_.why_no_host(request.worker);
      !missing.empty())
    return fail(ErrorCode::no_capacity,
                fmt::format("{}: 'orchid explain {}' says more", missing, to_string(id)));
  return fail(ErrorCode::no_capacity,
              largest == 0
                  ? fmt::format("no executor can provide such workers ({}): see 'orchid "
                                "hosts' and 'orchid explain {}'",
                                why, to_string(id))
                  : fmt::format("all executors together have room for {} such workers; ask for "
                                "fewer, or with fewer cores each; 'orchid explain {}' says more",
                                largest, to_string(id)));
}

void ClientLeases::open(ClientLeaseRequest request, MonotonicTime now, Opened done) {
  if (auto good = check(request); !good) return done(fail(std::move(good.error())));
  if (auto known = broker_.check_cluster(request.worker.cluster); !known)
    return done(fail(std::move(known.error())));
  for (placement::WorkerShape& shape : request.worker.alternatives)
    if (shape.memory.value == 0) shape.memory = broker_.worker_memory();
  const LeaseId id = broker_.next_lease_id();
  if (auto room = check_room(id, request, now); !room) return done(fail(std::move(room.error())));
  ClientLease lease{.request = request,
                    .holder = HolderId(next_holder_++),
                    .expires = now + request.duration,
                    .give_up_at = now + request.within,
                    .waiting = std::move(done),
                    .workers = {}};
  const HolderId holder = lease.holder;
  add(id, std::move(lease));
  broker_.want_workers(holder, request.workers, now);
  settle(leases_.find(id), now);
}

void ClientLeases::add(LeaseId id, ClientLease lease) {
  broker_.add_client(lease.holder, lease.request, id, lease.expires);
  by_holder_[lease.holder] = id;
  leases_.emplace(id, std::move(lease));
}

/// Answers whoever waits for the lease, once it has what it can get now.
void ClientLeases::settle(Leases::iterator found, MonotonicTime now) {
  ClientLease& lease = found->second;
  if (!lease.waiting) return;
  const bool nothing_more_comes =
      broker_.held_by(lease.holder) == lease.workers.size() || now >= lease.give_up_at;
  if (lease.request.crew && !lease.request.crew_spreads && !is_at_one_executor(lease)) {
    if (lease.request.at_least < lease.request.workers && !nothing_more_comes) return;
    if (!keep_largest_part(lease, now)) return refuse_scattered(found, now);
  }
  const std::size_t here = lease.workers.size();
  const bool enough = here >= lease.request.at_least;
  if (here >= lease.request.workers || (enough && nothing_more_comes)) {
    const Opened done = std::exchange(lease.waiting, nullptr);
    if (lease.request.crew) keep_members(lease, now);
    log::info("event=client_lease_opened lease={} workers={}", to_string(found->first), here);
    return done(view_of(found->first, lease, now));
  }
  if (now < lease.give_up_at) return;
  const Opened done = std::exchange(lease.waiting, nullptr);
  const auto refusal = broker_.refusal_of(lease.holder);
  const std::string why = fmt::format(
      "{} of {} workers came free in {} ms{}: ask for fewer, wait longer, or try again later; "
      "'orchid explain {}' says more",
      here, lease.request.at_least, lease.request.within.count(),
      refusal ? " (" + refusal->message + ")" : "", to_string(found->first));
  remove(found, now);
  const bool quota = refusal && refusal->code == ErrorCode::quota;
  done(fail(quota ? ErrorCode::quota : ErrorCode::no_capacity, why));
}

/// The members of a crew on one host share memory that one executor makes.
bool ClientLeases::is_at_one_executor(const ClientLease& lease) {
  return std::ranges::all_of(lease.workers, [&](const auto& worker) {
    return worker.second.executor == lease.workers.begin()->second.executor;
  });
}

/// Of a crew that may have fewer members: what is elsewhere goes back. False: too few are left.
bool ClientLeases::keep_largest_part(ClientLease& lease, MonotonicTime now) {
  std::map<ExecutorId, std::uint32_t> parts;
  for (const auto& [id, worker] : lease.workers) ++parts[worker.executor];
  const auto largest = std::ranges::max_element(parts, {}, [](const auto& p) { return p.second; });
  if (largest->second < lease.request.at_least) return false;
  std::vector<LeaseId> others;
  for (const auto& [id, worker] : lease.workers)
    if (worker.executor != largest->first) others.push_back(id);
  broker_.want_workers(lease.holder, largest->second, now);
  for (const LeaseId id : others) {
    lease.workers.erase(id);
    broker_.given_back(lease.holder, id, now);
  }
  return true;
}

/// Nobody can join a crew that stands.
void ClientLeases::keep_members(ClientLease& lease, MonotonicTime now) {
  lease.request.workers = static_cast<std::uint32_t>(lease.workers.size());
  broker_.want_workers(lease.holder, lease.request.workers, now);
}

void ClientLeases::refuse_scattered(Leases::iterator found, MonotonicTime now) {
  const Opened done = std::exchange(found->second.waiting, nullptr);
  const std::uint32_t members = found->second.request.at_least;
  remove(found, now);
  done(fail(ErrorCode::no_capacity,
            fmt::format("no executor of this host has {} workers free at once, which a crew needs: "
                        "ask for fewer members, or try again later",
                        members)));
}

void ClientLeases::remove(Leases::iterator lease, MonotonicTime now) {
  const HolderId holder = lease->second.holder;
  by_holder_.erase(holder);
  leases_.erase(lease);
  broker_.remove_holder(holder, now);
}

Result<ClientLeases::Leases::const_iterator> ClientLeases::find_own(uid_t tenant,
                                                                    LeaseId id) const {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.request.tenant.uid != tenant)
    return fail(ErrorCode::not_found,
                "there is no lease " + to_string(id) + ": it was released or has expired");
  return found;
}

Result<ClientLeaseView> ClientLeases::renew(uid_t tenant, LeaseId id,
                                            const ClientLeaseRenewal& renewal, MonotonicTime now) {
  if (auto good = check_duration(renewal.duration); !good) return fail(std::move(good.error()));
  const auto own = find_own(tenant, id);
  if (!own) return fail(own.error());
  ClientLease& lease = leases_.at(id);
  lease.request.duration = renewal.duration;
  lease.expires = now + renewal.duration;
  broker_.renew_client(lease.holder, lease.expires, now);
  for (const LeaseId worker : renewal.lost)
    if (lease.workers.erase(worker) != 0) broker_.worker_lost(lease.holder, worker, now);
  return view_of(id, lease, now);
}

Result<void> ClientLeases::close(uid_t tenant, LeaseId id, MonotonicTime now) {
  if (const auto own = find_own(tenant, id); !own) return fail(own.error());
  const auto found = leases_.find(id);
  const Opened waiting = std::exchange(found->second.waiting, nullptr);
  remove(found, now);
  log::info("event=client_lease_closed lease={}", to_string(id));
  if (waiting) waiting(fail(ErrorCode::cancelled, "the lease was closed before it was open"));
  return {};
}

Result<ClientLeaseView> ClientLeases::find(uid_t tenant, LeaseId id, MonotonicTime now) const {
  const auto own = find_own(tenant, id);
  if (!own) return fail(own.error());
  return view_of(id, (*own)->second, now);
}

Result<void> ClientLeases::tell_calls(uid_t tenant, LeaseId id, std::vector<TracedCall> calls,
                                      MonotonicTime now) {
  if (const auto own = find_own(tenant, id); !own) return fail(own.error());
  traces_.add(tenant, id, std::move(calls), now);
  return {};
}

Result<std::vector<TracedCall>> ClientLeases::calls_of(uid_t tenant, LeaseId id) const {
  if (auto calls = traces_.find(tenant, id)) return std::move(*calls);
  if (const auto own = find_own(tenant, id); !own) return fail(own.error());
  return std::vector<TracedCall>();
}

std::vector<ClientLeaseView> ClientLeases::list(uid_t tenant, MonotonicTime now) const {
  std::vector<ClientLeaseView> views;
  for (const auto& [id, lease] : leases_)
    if (lease.request.tenant.uid == tenant) views.push_back(view_of(id, lease, now));
  return views;
}

ClientLeaseView ClientLeases::view_of(LeaseId id, const ClientLease& lease, MonotonicTime now) {
  ClientLeaseView view{.id = id,
                       .worker = lease.request.worker,
                       .workers_wanted = lease.request.workers,
                       .wait = lease.request.wait,
                       .separate_processes = lease.request.separate_processes,
                       .crew = lease.request.crew,
                       .open = !lease.waiting,
                       .expires_in = time_left(lease.expires, now),
                       .workers = {}};
  for (const auto& [worker, grant] : lease.workers) view.workers.push_back(grant);
  return view;
}

std::vector<WorkerBroker::Held> ClientLeases::adopt(const std::vector<LeaseHeld>& held,
                                                    const Executor& executor, MonotonicTime now) {
  std::vector<WorkerBroker::Held> adopted;
  for (const LeaseHeld& lease : held) {
    // A lease of our own: the broker opens it again, or closes it.
    if (const Lease* booked = broker_.leases().find(lease.lease)) {
      adopted.push_back({lease, booked->holder});
      continue;
    }
    const LeaseId id = lease.client.client_lease;
    auto known = leases_.find(id);
    if (known == leases_.end()) {
      // What the client asked for is not known here; it keeps what it has, and who replaces a
      // worker is like the first that was told.
      ClientLeaseRequest request{.tenant = lease.tenant,
                                 .worker = {.alternatives = {shape_of(lease, executor)},
                                            .client_host = placement::HostId(executor.host.boot_id),
                                            .client_host_only = !lease.client.crew_spread},
                                 .workers = 0,
                                 .wait = lease.client.wait,
                                 .separate_processes = lease.client.separate_processes,
                                 .crew = lease.client.crew != 0,
                                 .crew_spreads = lease.client.crew_spread};
      add(id, {.request = std::move(request),
               .holder = HolderId(next_holder_++),
               .expires = now + lease.client.expires_in,
               .give_up_at = now,
               .waiting = nullptr,
               .workers = {}});
      known = leases_.find(id);
      log::info("event=client_lease_adopted lease={}", to_string(id));
    }
    ClientLease& client = known->second;
    client.workers[lease.lease] = {.lease = lease.lease,
                                   .secret = {},
                                   .executor = executor.id,
                                   .lane_socket = executor.lane_socket,
                                   .lane_address = executor.lane_address,
                                   .node = broker_.capacity().host_name(executor),
                                   .boot_id = executor.host.boot_id,
                                   .cores = lease.cores_per_worker,
                                   .memory = lease.memory,
                                   .gpus = lease.gpus,
                                   .gpu_model = shape_of(lease, executor).gpu_model};
    client.request.workers = std::max<std::uint32_t>(
        client.request.workers, static_cast<std::uint32_t>(client.workers.size()));
    adopted.push_back({lease, client.holder});
  }
  return adopted;
}

bool ClientLeases::granted(HolderId holder, const WorkerGrant& grant, MonotonicTime now) {
  const auto known = by_holder_.find(holder);
  if (known == by_holder_.end()) return false;
  const auto lease = leases_.find(known->second);
  if (lease->second.request.crew && !lease->second.waiting) {
    // It was on its way when the others began without it, and nobody would ever claim it.
    keep_members(lease->second, now);
    broker_.given_back(holder, grant.lease, now);
    return true;
  }
  lease->second.workers[grant.lease] = grant;
  settle(lease, now);
  return true;
}

bool ClientLeases::ended(const TellLeaseEnded& end, MonotonicTime now) {
  const auto known = by_holder_.find(end.holder);
  if (known == by_holder_.end()) return false;
  const auto found = leases_.find(known->second);
  ClientLease& lease = found->second;
  const bool was_here = lease.workers.erase(end.lease) != 0;
  if (lease.request.crew && !lease.waiting) {
    if (!was_here) return true;  // it came too late, and went back
    // One member alone is nobody's: its client takes another crew.
    log::info("event=client_lease_ended lease={}", to_string(found->first));
    remove(found, now);
    return true;
  }
  if (end.lost) return true;  // the broker looks for another
  if (lease.request.crew) {
    // Nobody could claim it before all are there, and fewer are not what was asked for.
    broker_.want_workers(end.holder, lease.request.workers, now);
    return true;
  }
  if (lease.request.workers > 0) --lease.request.workers;
  if (lease.request.workers == 0 && !lease.waiting) {
    log::info("event=client_lease_ended lease={}", to_string(found->first));
    remove(found, now);
  }
  return true;
}

void ClientLeases::tick(MonotonicTime now) {
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto lease = at++;
    if (lease->second.waiting) {
      settle(lease, now);
    } else if (lease->second.expires + forget_after <= now) {
      log::info("event=client_lease_expired lease={}", to_string(lease->first));
      remove(lease, now);
    }
  }
}

}  // namespace orchid::gateway
