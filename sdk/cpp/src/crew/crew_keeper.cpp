// The keeper of a crew, which asks the gateway: it renews the lease, takes another one when that
// has gone, and fetches modules.
#include <iterator>
#include <utility>
#include <vector>

#include "crew/crew_core.h"
#include "foundation/files.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds lease_pause{200};

}  // namespace

void CrewCore::keep() {
  Lock lock(mutex_);
  auto renewal = std::chrono::steady_clock::now() + options_.duration / 3;
  while (!stopping_) {
    if (!fetches_.empty()) {
      const std::shared_ptr<CrewModule> module = fetches_.front();
      fetches_.pop_front();
      fetch(lock, module);
    } else if (wants_lease_) {
      take_lease(lock);
      renewal = std::chrono::steady_clock::now() + options_.duration / 3;
    } else if (std::chrono::steady_clock::now() >= renewal) {
      renew(lock);
      renewal = std::chrono::steady_clock::now() + options_.duration / 3;
    } else if (!traced_.empty()) {
      tell_traced(lock);
    } else {
      wanted_.wait_until(lock, renewal);
    }
  }
}

/// Whoever cannot renew it goes on until its executor ends it.
void CrewCore::renew(Lock& lock) {
  const std::string lease = lease_;
  lock.unlock();
  try {
    source_->renew(lease, options_.duration);
  } catch (const Error&) {
  }
  lock.lock();
}

/// Nobody waits for that, so nobody hears that it has failed.
void CrewCore::tell_traced(Lock& lock) {
  const std::vector<TracedCall> calls(std::make_move_iterator(traced_.begin()),
                                      std::make_move_iterator(traced_.end()));
  traced_.clear();
  const std::string lease = lease_;
  lock.unlock();
  try {
    source_->tell_calls(lease, calls);
  } catch (const Error&) {
  }
  lock.lock();
}

void CrewCore::take_lease(Lock& lock) {
  const std::string lost = lease_;
  std::optional<LeaseGrant> grant;
  std::optional<Error::Details> why;
  lock.unlock();
  try {
    source_->release(lost);
  } catch (const Error&) {  // it has gone by itself
  }
  try {
    grant = source_->take(options_);
  } catch (const Error& error) {
    why = error.details();
  }
  lock.lock();
  if (why) {
    why_none_ = std::move(why);
    changed_.notify_all();
    wanted_.wait_for(lock, lease_pause, [&] { return stopping_; });
    return;
  }
  lease_ = grant->id;  // released also if it is never claimed
  grant_ = std::move(grant);
  wants_lease_ = false;
  poke();
}

void CrewCore::fetch(Lock& lock, const std::shared_ptr<CrewModule>& module) {
  lock.unlock();
  UniqueFd file;
  std::optional<Error::Details> why;
  try {
    auto made =
        make_sealed_memory("orchid-module", source_->module(module->function, module->digest));
    if (made)
      file = std::move(*made);
    else
      why = Error::Details{.kind = ErrorKind::system, .message = made.error().message};
  } catch (const Error& error) {
    why = error.details();
  }
  lock.lock();
  module->fetching = false;
  module->file = std::move(file);
  if (!why) return send_code(*module);
  module->failure = std::move(why);
  modules_.erase(module->digest);
  fail_waiting(*module);
  changed_.notify_all();
}

}  // namespace orchid::sdk
