#include "lease/lease_keeper.h"

#include <algorithm>

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

void LeaseKeeper::fetch(const std::weak_ptr<const void>& lease, std::shared_ptr<LeaseCode> code) {
  const std::lock_guard lock(shared_->mutex);
  for (const Kept& kept : shared_->kept)
    if (same(kept.core, lease)) shared_->fetches.push_back({kept.core, code});
  shared_->changed.notify_all();
}

void LeaseKeeper::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (!shared->stopping) {
    if (!shared->fetches.empty()) {
      const Fetch fetch = std::move(shared->fetches.front());
      shared->fetches.pop_front();
      lock.unlock();
      fetch_module(fetch);
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

void LeaseKeeper::fetch_module(const Fetch& fetch) {
  const auto core = fetch.core.lock();
  if (core == nullptr || core->ended()) return;
  try {
    const auto bytes = core->source().module(fetch.code->function, fetch.code->digest);
    core->module_fetched(*fetch.code, make_sealed_memory("orchid-module", bytes));
  } catch (const Error& error) {
    core->module_fetched(*fetch.code, fail(ErrorCode::unreachable, error.what()));
  }
}

}  // namespace orchid::sdk
