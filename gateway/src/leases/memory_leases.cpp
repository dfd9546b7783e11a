#include "leases/memory_leases.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "foundation/log.h"
#include "foundation/random.h"
#include "hosts/capacity.h"
#include "leases/client_leases.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t memory_key_bytes = 16;
/// Beyond a lease's end: the executor ends it, and says so.
constexpr milliseconds memory_forget_after{5'000};
/// Who has ended a lease is not asked for longer whether it is still there.
constexpr std::chrono::hours remember_ended_for{25};

/// With its colon; empty: it has none.
std::string_view port_of(std::string_view address) {
  const auto colon = address.rfind(':');
  return colon == std::string_view::npos ? std::string_view() : address.substr(colon);
}

bool lasts_as_leases_do(milliseconds duration) {
  return duration >= ClientLeases::shortest && duration <= ClientLeases::longest;
}

/// Clients of other hosts come to it, or this one is on its host.
bool can_be_reached(const Executor& executor, const placement::WorkerRequest& on) {
  const bool same_host = on.client_host.value() == executor.host.boot_id;
  return same_host || (!on.client_host_only && !executor.lane_address.empty());
}

bool meets(const Executor& executor, const placement::WorkerRequest& on, MonotonicTime now) {
  static const std::vector<std::string> no_features;
  const placement::HostTraits traits{.name = Capacity::name_of(executor),
                                     .cluster = executor.grant.cluster,
                                     .architecture = executor.host.architecture,
                                     .kind = placement::parse_host_kind(executor.host.kind),
                                     .features = no_features};
  return placement::misfit_of(traits, on) == placement::Reason::fits &&
         executor.ends - now >= on.lifetime;
}

}  // namespace

Result<void> MemoryLeases::check(const MemoryLeaseRequest& request) const {
  if (request.bytes.value == 0)
    return fail(ErrorCode::bad_request,
                "a lease without workers is one of memory: say how much with 'memory_bytes'");
  if (!lasts_as_leases_do(request.duration))
    return fail(ErrorCode::bad_request,
                "a lease lasts from 1 s to 24 h; it is renewed while needed");
  const uid_t tenant = request.tenant.uid;
  const auto own = std::ranges::count_if(
      leases_, [&](const auto& entry) { return entry.second.request.tenant.uid == tenant; });
  if (static_cast<std::size_t>(own) >= options_.most_per_tenant)
    return fail(ErrorCode::quota, "you hold " + std::to_string(own) +
                                      " leases of memory, and no more are allowed: release some, "
                                      "or take fewer, larger ones");
  const std::uint64_t most = options_.per_tenant.value;
  const std::uint64_t used = leased_to(tenant).value + parts_.data_of(tenant).value;
  if (most != 0 && (request.bytes.value > most || used > most - request.bytes.value))
    return fail(ErrorCode::quota,
                "you may have " + to_string(options_.per_tenant) +
                    " of data and leased memory together, and have " + to_string(ByteCount{used}) +
                    ": " + to_string(request.bytes) +
                    " more are too many; release leases ('orchid leases') or delete data ('orchid "
                    "data list')");
  return {};
}

void MemoryLeases::open(MemoryLeaseRequest request, MonotonicTime now, Opened done) {
  if (auto good = check(request); !good) return done(fail(std::move(good.error())));
  const LeaseId id = parts_.broker.next_lease_id();
  Lease lease{.request = std::move(request), .key = random_hex(memory_key_bytes)};
  lease.expires = now + lease.request.duration;
  lease.waiting = std::move(done);
  ask_next(leases_.emplace(id, std::move(lease)).first, now);
}

/// Where there is room, then where the grant lasts longest, then where there is most of it: what
/// room an executor has, and what could go for it, it knows best.
const Executor* MemoryLeases::choose(const Lease& lease, MonotonicTime now) const {
  const Executor* best = nullptr;
  std::tuple<bool, MonotonicTime, std::uint64_t> best_rank;
  for (const auto& [id, executor] : parts_.broker.hosts().executors()) {
    const bool may = executor.leases_memory && executor.data_memory &&
                     executor.state == ExecutorState::connected && executor.ends > now &&
                     !executor.grant.draining && !lease.asked.contains(id) &&
                     Capacity::serves(executor, lease.request.tenant) &&
                     can_be_reached(executor, lease.request.on) &&
                     meets(executor, lease.request.on, now);
    if (!may) continue;
    const std::uint64_t free = Capacity::free_for_data(executor, {}).value;
    const std::tuple rank{free >= lease.request.bytes.value, executor.ends, free};
    if (best != nullptr && rank <= best_rank) continue;
    best = &executor;
    best_rank = rank;
  }
  return best;
}

Failure MemoryLeases::nobody(const MemoryLeaseRequest& request) const {
  const auto& executors = parts_.broker.hosts().executors();
  const bool any = std::ranges::any_of(executors, [&](const auto& entry) {
    const Executor& executor = entry.second;
    return executor.leases_memory && executor.state == ExecutorState::connected &&
           Capacity::serves(executor, request.tenant);
  });
  if (!any)
    return {ErrorCode::no_data_memory,
            "no executor that leases memory to you is connected: start one with --data-memory"};
  return {ErrorCode::no_data_memory,
          "no executor that leases memory meets the constraints and can be reached by the client: "
          "see 'orchid hosts', start executors with --lane-listen, or say the client's 'boot_id'"};
}

/// One after the other.
void MemoryLeases::ask_next(Leases::iterator lease, MonotonicTime now) {
  Lease& wanted = lease->second;
  const Executor* executor = choose(wanted, now);
  if (executor == nullptr) {
    const Failure why = wanted.refused.value_or(nobody(wanted.request));
    const Opened done = std::move(wanted.waiting);
    leases_.erase(lease);
    return done(fail(why));
  }
  wanted.asked.insert(executor->id);
  wanted.executor = executor->id;
  wanted.node = Capacity::name_of(*executor);
  wanted.boot_id = executor->host.boot_id;
  wanted.due = now + options_.answer_within;
  ask(lease->first, wanted, now);
}

void MemoryLeases::ask(LeaseId id, const Lease& lease, MonotonicTime now) {
  parts_.send(lease.executor,
              LeaseMemory{.lease = id,
                          .tenant = lease.request.tenant,
                          .bytes = lease.request.bytes,
                          .key = lease.key,
                          .wait = lease.request.wait,
                          .expires_in = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(
                                                                      lease.expires - now))});
}

void MemoryLeases::hear(const ExecutorId& executor, const MemoryLeased& message,
                        MonotonicTime now) {
  const auto found = leases_.find(message.lease);
  if (found == leases_.end() || found->second.executor != executor)
    return parts_.send(executor, EndMemory{message.lease});
  Lease& lease = found->second;
  lease.address = message.address;
  lease.key = message.key;
  // Others connect there: only the port is the executor's to say now.
  const Executor* known = parts_.broker.hosts().find(executor);
  const std::string_view port = port_of(message.address);
  if (known != nullptr && !known->lane_address.empty() && !port.empty())
    lease.address =
        known->lane_address.substr(0, known->lane_address.rfind(':')) + std::string(port);
  if (!lease.waiting) return;
  log::info("event=memory_leased lease={} executor={} bytes={}", to_string(message.lease),
            executor.value(), lease.request.bytes.value);
  const Opened done = std::exchange(lease.waiting, nullptr);
  done(view_of(message.lease, lease, now));
}

void MemoryLeases::hear(const ExecutorId& executor, const MemoryRefused& message,
                        MonotonicTime now) {
  const auto found = leases_.find(message.lease);
  if (found == leases_.end() || found->second.executor != executor) return;
  lost(found, {message.code, found->second.node + ": " + message.message}, now);
}

void MemoryLeases::hear(const ExecutorId& executor, const MemoryEnded& message, MonotonicTime now) {
  ended_.erase(message.lease);
  const auto found = leases_.find(message.lease);
  if (found == leases_.end() || found->second.executor != executor) return;
  log::info("event=memory_ended lease={} reason={}", to_string(message.lease),
            to_string(message.reason));
  lost(found, {ErrorCode::unreachable, found->second.node + ": the memory was lost: try again"},
       now);
}

/// Errors: also why its calls cannot go there.
Result<MemoryLeases::Leases::iterator> MemoryLeases::find_for(const Executor* asker,
                                                              const FindMemory& question) {
  if (asker == nullptr || !Capacity::serves(*asker, question.tenant))
    return fail(ErrorCode::denied, "this executor does not serve that user");
  auto own = find_own(question.tenant.uid, question.lease);
  if (!own) return own;
  const Lease& lease = (*own)->second;
  if (lease.waiting || lease.address.empty())
    return fail(ErrorCode::unreachable, "nobody serves the memory yet; try again");
  if (lease.key.empty())
    return fail(ErrorCode::unsupported,
                "the lease was made before the gateway started anew, and its key is not known any "
                "more: only who is connected can use it");
  const Executor* const holder = parts_.broker.hosts().find(lease.executor);
  const bool has_way =
      lease.boot_id == asker->host.boot_id || (holder != nullptr && !holder->lane_address.empty());
  if (!has_way)
    return fail(ErrorCode::unreachable,
                "the memory is on the host " + lease.node +
                    ", whose executor serves programs of its own host alone: start it with "
                    "--lane-listen, or run the call there");
  return own;
}

void MemoryLeases::hear(const ExecutorId& executor, const FindMemory& question,
                        MonotonicTime /*now*/) {
  const auto found = find_for(parts_.broker.hosts().find(executor), question);
  if (!found)
    return parts_.send(
        executor, MemoryNotFound{question.question, found.error().code, found.error().message});
  const Lease& lease = (*found)->second;
  parts_.send(executor, MemoryFound{.question = question.question,
                                    .address = lease.address,
                                    .key = lease.key,
                                    .bytes = lease.request.bytes,
                                    .wait = lease.request.wait,
                                    .host = lease.node});
}

/// Its executor has it no more. Somebody who waits for it may get it elsewhere.
void MemoryLeases::lost(Leases::iterator lease, const Failure& why, MonotonicTime now) {
  if (!lease->second.waiting) {
    leases_.erase(lease);
    return;
  }
  lease->second.refused = why;
  ask_next(lease, now);
}

void MemoryLeases::end_at(const ExecutorId& executor, LeaseId id, MonotonicTime now) {
  ended_[id] = now + remember_ended_for;
  parts_.send(executor, EndMemory{id});
}

Result<MemoryLeases::Leases::iterator> MemoryLeases::find_own(uid_t tenant, LeaseId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.request.tenant.uid != tenant)
    return fail(ErrorCode::not_found,
                "there is no lease " + to_string(id) + ": it was released or has expired");
  return found;
}

Result<MemoryLeaseView> MemoryLeases::renew(uid_t tenant, LeaseId id, milliseconds duration,
                                            MonotonicTime now) {
  if (!lasts_as_leases_do(duration))
    return fail(ErrorCode::bad_request,
                "a lease lasts from 1 s to 24 h; it is renewed while needed");
  const auto own = find_own(tenant, id);
  if (!own) return fail(own.error());
  Lease& lease = (*own)->second;
  lease.request.duration = duration;
  lease.expires = now + duration;
  parts_.send(lease.executor, RenewMemory{id, duration});
  return view_of(id, lease, now);
}

Result<void> MemoryLeases::close(uid_t tenant, LeaseId id, MonotonicTime now) {
  const auto own = find_own(tenant, id);
  if (!own) return fail(own.error());
  Lease lease = std::move((*own)->second);
  leases_.erase(*own);
  end_at(lease.executor, id, now);
  if (lease.waiting)
    lease.waiting(fail(ErrorCode::cancelled, "the lease was closed before it was open"));
  return {};
}

Result<MemoryLeaseView> MemoryLeases::find(uid_t tenant, LeaseId id, MonotonicTime now) const {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.request.tenant.uid != tenant)
    return fail(ErrorCode::not_found,
                "there is no lease " + to_string(id) + ": it was released or has expired");
  return view_of(id, found->second, now);
}

std::vector<MemoryLeaseView> MemoryLeases::list(uid_t tenant, MonotonicTime now) const {
  std::vector<MemoryLeaseView> views;
  for (const auto& [id, lease] : leases_)
    if (lease.request.tenant.uid == tenant) views.push_back(view_of(id, lease, now));
  return views;
}

ByteCount MemoryLeases::leased_to(uid_t tenant) const {
  ByteCount bytes;
  for (const auto& [id, lease] : leases_)
    if (lease.request.tenant.uid == tenant) bytes.value += lease.request.bytes.value;
  return bytes;
}

MemoryLeaseView MemoryLeases::view_of(LeaseId id, const Lease& lease, MonotonicTime now) {
  return {
      .id = id,
      .bytes = lease.request.bytes,
      .wait = lease.request.wait,
      .open = !lease.waiting,
      .expires_in = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(lease.expires - now)),
      .node = lease.node,
      .boot_id = lease.boot_id,
      .address = lease.address,
      .key = lease.key};
}

void MemoryLeases::executor_joined(const Executor& executor, const std::vector<MemoryHeld>& held,
                                   MonotonicTime now) {
  std::set<LeaseId> there;
  for (const MemoryHeld& one : held) {
    // What it says of others' leases is not its to say.
    const bool may_say = !options_.owner || executor.owner.tenant.uid == *options_.owner ||
                         executor.owner.tenant.uid == one.tenant.uid;
    if (!may_say) continue;
    there.insert(one.lease);
    const auto known = leases_.find(one.lease);
    // It was too slow with its answer, and another one was asked; or it has ended here.
    const bool is_over =
        known == leases_.end() ? ended_.contains(one.lease) : known->second.executor != executor.id;
    if (is_over) {
      parts_.send(executor.id, EndMemory{one.lease});
      continue;
    }
    Lease& lease = leases_[one.lease];
    if (known == leases_.end())
      lease.request = {.tenant = one.tenant, .bytes = one.bytes, .wait = one.wait};
    lease.expires = now + one.expires_in;
    lease.executor = executor.id;
    lease.node = Capacity::name_of(executor);
    lease.boot_id = executor.host.boot_id;
    if (lease.address.empty()) lease.address = one.address;
    // What it has said of its next process was perhaps lost with the stream before.
    const bool has_moved = !one.address.empty() && port_of(one.address) != port_of(lease.address);
    if (!lease.waiting && !lease.key.empty() && has_moved) ask(one.lease, lease, now);
  }
  // Of a stream that has begun afresh: what was said in the old one it may not have heard.
  for (auto next = leases_.begin(); next != leases_.end();) {
    const auto lease = next++;
    if (lease->second.executor != executor.id || there.contains(lease->first)) continue;
    if (lease->second.waiting)
      ask(lease->first, lease->second, now);
    else
      leases_.erase(lease);
  }
}

void MemoryLeases::add_metrics(MetricsText& text) const {
  std::uint64_t open = 0;
  std::uint64_t bytes = 0;
  for (const auto& [id, lease] : leases_) {
    if (lease.waiting) continue;
    ++open;
    bytes += lease.request.bytes.value;
  }
  text.gauge("orchid_memory_leases", "Leases of memory that are open.", open);
  text.gauge("orchid_memory_leased_bytes", "Memory for data that they have, in bytes.", bytes);
}

void MemoryLeases::tick(MonotonicTime now) {
  std::erase_if(ended_, [&](const auto& entry) { return entry.second <= now; });
  std::vector<LeaseId> over;
  for (const auto& [id, lease] : leases_) {
    const bool silent = lease.waiting && now >= lease.due;
    const bool gone = parts_.broker.hosts().find(lease.executor) == nullptr;
    if (silent || gone || now >= lease.expires + memory_forget_after) over.push_back(id);
  }
  for (const LeaseId& id : over) {
    const auto lease = leases_.find(id);
    if (lease == leases_.end()) continue;
    end_at(lease->second.executor, id, now);
    lost(lease, {ErrorCode::unreachable, lease->second.node + ": the executor does not answer"},
         now);
  }
}

}  // namespace orchid::gateway
