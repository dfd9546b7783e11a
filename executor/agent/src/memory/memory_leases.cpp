#include "memory/memory_leases.h"

#include <algorithm>
#include <utility>

#include "data/clock_now.h"
#include "foundation/log.h"
#include "foundation/random.h"

namespace orchid::executor {
namespace {

constexpr const char* this_host = "127.0.0.1";
constexpr std::size_t memory_key_bytes = 16;
/// Each has a process of its own, whose buffers nobody is charged for.
constexpr std::ptrdiff_t most_of_tenant = 16;

}  // namespace

MemoryLeases::MemoryLeases(boost::asio::io_context& io, ChildWatch& children, DataService& data,
                           Options options, std::function<void(const ControlMessage&)> tell)
    : io_(io),
      children_(children),
      data_(data),
      options_(std::move(options)),
      tell_(std::move(tell)) {}

void MemoryLeases::obey(const LeaseMemory& request) {
  if (const auto known = leases_.find(request.lease); known != leases_.end()) {
    if (!known->second.address.empty()) tell_leased(*known);
    return;
  }
  if (!waiting_.insert(request.lease).second) return;  // it was asked for twice
  data_.prepare_room(request.tenant.uid, request.bytes, DataService::patience,
                     [this, request](const Result<void>& there) {
                       // Who has ended it meanwhile was told that it is over.
                       if (waiting_.erase(request.lease) == 0) return;
                       const auto begun = there ? begin(request) : there;
                       if (!begun) refuse(request.lease, begun.error());
                     });
}

void MemoryLeases::refuse(LeaseId id, const Failure& why) const {
  log::info("event=memory_refused lease={} code={}", to_string(id), to_string(why.code));
  tell_(MemoryRefused{id, why.code, why.message});
}

Result<void> MemoryLeases::begin(const LeaseMemory& request) {
  const auto own = std::ranges::count_if(leases_, [&](const auto& entry) {
    return entry.second.terms.tenant.uid == request.tenant.uid;
  });
  if (own >= most_of_tenant)
    return fail(ErrorCode::quota, "you hold " + std::to_string(own) +
                                      " leases of memory of this executor, and no more are "
                                      "allowed: release some, or take fewer, larger ones");
  auto room = data_.make_for_lease(request.tenant, request.bytes);
  if (!room) return fail(std::move(room.error()).while_doing("leasing memory"));
  const DataId data = room->data;
  Lease lease{.terms = request,
              .expires = clock_now() + request.expires_in,
              .room = std::move(*room),
              .process = nullptr};
  if (auto started = start_process(request.lease, lease); !started) {
    data_.discard(data, [this, id = request.lease, why = started.error()] { refuse(id, why); });
    return {};
  }
  leases_.emplace(request.lease, std::move(lease));
  log::info("event=memory_leased lease={} tenant={} bytes={}", to_string(request.lease),
            request.tenant.uid, request.bytes.value);
  return {};
}

/// One for each client: nobody meets UCX after the doors of another connection were closed.
Result<void> MemoryLeases::start_process(LeaseId id, Lease& lease) {
  auto process = std::make_unique<MemoryProcess>(
      MemoryProcess::Parts{.io = io_, .children = children_, .program = options_.program},
      MemoryProcess::Handlers{
          .listening = [this, id](const std::string& address) { listening(id, address); },
          .connected = [] {},
          .lost = [] {},
          .ended = [this, id](const std::optional<Failure>& why) { process_ended(id, why); }});
  auto started = process->start({.key = lease.terms.key,
                                 .address = options_.listen.empty() ? this_host : options_.listen,
                                 .bytes = lease.terms.bytes,
                                 .wait = lease.terms.wait},
                                lease.room.file);
  if (started) lease.process = std::move(process);
  return started;
}

void MemoryLeases::listening(LeaseId id, const std::string& address) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return;
  lease->second.address = address;
  lease->second.was_reachable = true;
  if (!lease->second.ends) tell_leased(*lease);
}

void MemoryLeases::tell_leased(const Leases::value_type& lease) const {
  tell_(MemoryLeased{lease.first, lease.second.address, lease.second.terms.key});
}

/// What has been asked of a process that has died is not known: the memory goes with it.
void MemoryLeases::process_ended(LeaseId id, const std::optional<Failure>& why) {
  const auto found = leases_.find(id);
  Lease& lease = found->second;
  if (lease.ends) return forget(found, *lease.ends);
  if (why) {
    log::warn("event=memory_lost lease={} code={} reason=\"{}\"", to_string(id),
              to_string(why->code), why->message);
    if (lease.was_reachable) return forget(found, LeaseEnd::revoked);
    const DataId data = lease.room.data;
    leases_.erase(found);
    data_.discard(data, [this, id, why = *why] { refuse(id, why); });
    return;
  }
  // The last one's port may be anybody's by now, who then sees the key that clients come with: so
  // nobody is to come there with the new one.
  lease.address.clear();
  lease.terms.key = random_hex(memory_key_bytes);
  if (auto started = start_process(id, lease); !started) {
    log::error("event=memory_lost lease={} reason=\"{}\"", to_string(id), started.error().message);
    forget(found, LeaseEnd::revoked);
  }
}

void MemoryLeases::forget(Leases::iterator lease, LeaseEnd reason) {
  const LeaseId id = lease->first;
  log::info("event=memory_ended lease={} reason={}", to_string(id), to_string(reason));
  const DataId data = lease->second.room.data;
  leases_.erase(lease);
  // Its pages are let go slowly, and it is charged until then.
  data_.discard(data, [this, id, reason] { tell_(MemoryEnded{id, reason}); });
}

void MemoryLeases::end(Lease& lease, LeaseEnd reason) {
  if (lease.ends) return;
  lease.ends = reason;
  lease.room.file.reset();  // no other process gets it
  lease.process->kill();
}

void MemoryLeases::obey(const RenewMemory& request) {
  const auto lease = leases_.find(request.lease);
  if (lease == leases_.end() || lease->second.ends)
    return tell_(MemoryEnded{request.lease, LeaseEnd::expired});
  lease->second.expires = clock_now() + request.expires_in;
}

void MemoryLeases::obey(const EndMemory& request) {
  waiting_.erase(request.lease);
  const auto lease = leases_.find(request.lease);
  if (lease == leases_.end()) return tell_(MemoryEnded{request.lease, LeaseEnd::released});
  end(lease->second, LeaseEnd::released);
}

void MemoryLeases::tick(MonotonicTime now) {
  for (auto& [id, lease] : leases_)
    if (lease.expires <= now) end(lease, LeaseEnd::expired);
}

std::vector<MemoryHeld> MemoryLeases::introduce(MonotonicTime now) const {
  using std::chrono::milliseconds;
  std::vector<MemoryHeld> held;
  for (const auto& [id, lease] : leases_)
    if (!lease.ends)
      held.push_back({.lease = id,
                      .tenant = lease.terms.tenant,
                      .bytes = lease.terms.bytes,
                      .wait = lease.terms.wait,
                      .expires_in = std::max(milliseconds(0),
                                             std::chrono::ceil<milliseconds>(lease.expires - now)),
                      .address = lease.address});
  return held;
}

std::optional<MemoryReach> MemoryLeases::way_to(LeaseId lease, std::uint32_t tenant) const {
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.ends || found->second.terms.tenant.uid != tenant)
    return std::nullopt;
  const LeaseMemory& terms = found->second.terms;
  return MemoryReach{.key = terms.key,
                     .address = found->second.address,
                     .bytes = terms.bytes,
                     .wait = terms.wait,
                     .host = {}};
}

void MemoryLeases::count(std::map<std::string, std::uint64_t>& counters) const {
  std::uint64_t bytes = 0;
  for (const auto& [id, lease] : leases_) bytes += lease.terms.bytes.value;
  counters["data_leased_bytes"] = bytes;
}

void MemoryLeases::end_all() {
  for (auto& [id, lease] : leases_) end(lease, LeaseEnd::reclaimed);
}

}  // namespace orchid::executor
