#include "lease/lease_keeper.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "foundation/files.h"
#include "lease/lease_core.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds longest_retry{1000};
constexpr std::chrono::milliseconds search_interval{200};

bool same(const std::weak_ptr<LeaseCore>& a, const std::weak_ptr<const void>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

/// An executor that has gone in the middle of a claim has refused nothing: another one may have
/// room.
bool is_passing(ErrorKind refusal) {
  return refusal == ErrorKind::unreachable || refusal == ErrorKind::timed_out ||
         refusal == ErrorKind::no_capacity || refusal == ErrorKind::system;
}

/// Of a worker that was taken back an executor says that its lease has ended. Whether another one
/// comes in its place only the gateway knows: it does as long as that knows the lease.
bool is_final(ErrorKind refusal) {
  return !is_passing(refusal) && refusal != ErrorKind::lease_ended;
}

bool knows_no_such_lease(const Error& error) {
  return error.kind() == ErrorKind::lease_ended || error.kind() == ErrorKind::not_found;
}

void fetch_module(LeaseCore& core, LeaseCode& code) {
  try {
    const auto bytes = core.source().module(code.function, code.digest);
    core.module_fetched(code, make_sealed_memory("orchid-module", bytes));
  } catch (const Error& error) {
    core.module_fetched(code, fail(ErrorCode::unreachable, error.what()));
  }
}

/// The gateway cannot be asked now: the call waits on.
bool may_pass(ErrorKind kind) {
  return kind == ErrorKind::unreachable || kind == ErrorKind::timed_out;
}

/// Why the object is not on its way to that host; nothing: it is, or may be soon.
std::optional<Error> why_not_copied(LeaseSource& source, const std::string& id,
                                    const std::string& host) {
  try {
    source.copy_data(id, host);
    return std::nullopt;
  } catch (const Error& error) {
    if (may_pass(error.kind())) return std::nullopt;
    return error;
  }
}

/// What it cannot have copied ends the calls that wait for it, unless another worker may have it.
void bring_data(LeaseCore& core, const DataId& data, const std::string& host) {
  const std::string id = to_string(data);
  const auto why = why_not_copied(core.source(), id, host);
  if (!why) return;
  try {
    const DataInfo info = core.source().describe_data(id);
    if (info.state != "lost") {
      if (core.has_worker_elsewhere(info.hosts, host)) return;
      std::string where;
      for (const std::string& holder : info.hosts)
        where.append(where.empty() ? "" : " and ").append(holder);
      return core.data_refused(
          data,
          {.kind = ErrorKind::data_elsewhere,
           .message = "it is on " + where + ", and cannot be copied to the worker's host " + host +
                      ": " + why->message(),
           .hint = "take workers where the data is (LeaseConstraints::host), or executors that "
                   "copy data (--lane-listen)",
           .node = host},
          /*may_pass=*/false);
    }
  } catch (const Error& error) {
    if (may_pass(error.kind())) return;
  }
  core.data_refused(data,
                    {.kind = ErrorKind::data_lost,
                     .message = "it is there no more: " + why->message(),
                     .node = host},
                    /*may_pass=*/false);
}

}  // namespace

LeaseKeeper::LeaseKeeper()
    : shared_(std::make_shared<Shared>()), thread_([shared = shared_] { run(shared); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
  }
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void LeaseKeeper::keep(std::weak_ptr<LeaseCore> core) {
  const auto strong = core.lock();
  if (strong == nullptr) return;
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->kept, [](const Kept& kept) { return kept.core.expired(); });
  shared_->kept.push_back(
      {std::move(core), std::chrono::steady_clock::now() + strong->options().duration / 3});
  shared_->changed.notify_all();
}

void LeaseKeeper::renew_soon(const std::weak_ptr<const void>& lease) {
  const std::lock_guard lock(shared_->mutex);
  for (Kept& kept : shared_->kept)
    if (same(kept.core, lease)) kept.next = std::chrono::steady_clock::now();
  shared_->changed.notify_all();
}

void LeaseKeeper::add(const std::weak_ptr<const void>& lease,
                      const std::function<void(LeaseCore&)>& errand) {
  const std::lock_guard lock(shared_->mutex);
  for (const Kept& kept : shared_->kept)
    if (same(kept.core, lease)) shared_->errands.push_back({kept.core, errand});
  shared_->changed.notify_all();
}

void LeaseKeeper::fetch(const std::weak_ptr<const void>& lease, std::shared_ptr<LeaseCode> code) {
  add(lease, [code = std::move(code)](LeaseCore& core) { fetch_module(core, *code); });
}

void LeaseKeeper::bring(const std::weak_ptr<const void>& lease, const DataId& data,
                        std::string host) {
  add(lease, [data, host = std::move(host)](LeaseCore& core) { bring_data(core, data, host); });
}

void LeaseKeeper::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (!shared->stopping) {
    if (!shared->errands.empty()) {
      const Errand errand = std::move(shared->errands.front());
      shared->errands.pop_front();
      lock.unlock();
      if (const auto core = errand.core.lock(); core != nullptr && !core->ended())
        errand.run(*core);
      lock.lock();
      continue;
    }
    std::erase_if(shared->kept, [](const Kept& kept) { return kept.core.expired(); });
    const auto first = std::ranges::min_element(shared->kept, {}, &Kept::next);
    const MonotonicTime now = std::chrono::steady_clock::now();
    if (first == shared->kept.end()) {
      shared->changed.wait(lock);
    } else if (first->next > now) {
      const MonotonicTime next = first->next;
      shared->changed.wait_until(lock, next);
    } else {
      const std::weak_ptr<LeaseCore> weak = first->core;
      first->next = MonotonicTime::max();  // unless somebody wants it sooner while we ask
      lock.unlock();
      MonotonicTime next = MonotonicTime::max();
      if (const auto core = weak.lock()) next = renew(core);
      lock.lock();
      for (Kept& kept : shared->kept)
        if (same(kept.core, weak)) kept.next = std::min(kept.next, next);
    }
  }
}

MonotonicTime LeaseKeeper::renew(const std::shared_ptr<LeaseCore>& core) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  if (core->ended()) return MonotonicTime::max();
  core->detach_unused_data();
  const auto period = core->options().duration / 3;
  bool unknown = false;
  bool answered = false;
  try {
    const auto lost = core->lost_workers();
    core->renewed(lost, core->source().renew(core->options().duration, lost));
    answered = true;
  } catch (const Error& error) {
    unknown = knows_no_such_lease(error);
  }
  if (core->has_live_lane()) {
    if (answered && !core->misses_workers()) return now() + period;
    return now() + std::min(period, longest_retry);
  }
  auto refusal = core->refusal();
  if (refusal && is_passing(refusal->kind)) refusal.reset();
  // Without workers nothing is kept alive, and nobody can be asked for others.
  const bool expired = !answered && core->is_overdue();
  if (unknown || expired || (answered && refusal && is_final(refusal->kind))) {
    core->end(refusal.value_or(
        Error::Details{.kind = ErrorKind::lease_ended,
                       .message = expired ? "the lease could not be renewed in time"
                                          : "the gateway has no such lease any more",
                       .hint = "take a new lease"}));
    return MonotonicTime::max();
  }
  return now() + std::min(period, search_interval);
}

}  // namespace orchid::sdk
