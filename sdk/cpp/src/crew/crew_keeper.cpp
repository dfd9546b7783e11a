// The keeper of a crew, which asks the gateway: it renews the lease, takes another one when that
// has gone, and fetches modules.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "crew/crew_core.h"
#include "foundation/files.h"
#include "protocol/digest.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::milliseconds lease_pause{200};

}  // namespace

void CrewCore::keep() {
  Lock lock(mutex_);
  const auto next_renewal = [this] {
    return std::chrono::steady_clock::now() + options_.duration / 3;
  };
  auto renewal = next_renewal();
  while (!stopping_) {
    // First: what calls ask for may come faster than it can be found.
    if (!wants_lease_ && std::chrono::steady_clock::now() >= renewal) {
      renew(lock);
      renewal = next_renewal();
    } else if (!fetches_.empty()) {
      const std::shared_ptr<CrewModule> module = fetches_.front();
      fetches_.pop_front();
      fetch(lock, module);
    } else if (!look_ups_.empty()) {
      look_up(lock, std::string(look_ups_.begin()->first));  // which goes with its answer
    } else if (!locates_.empty()) {
      locate(lock, std::string(locates_.begin()->first));
    } else if (wants_lease_) {
      take_lease(lock);
      renewal = next_renewal();
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

/// A call wants it, and its executor does not have it.
void CrewCore::want_module(std::size_t index, const std::string& name) {
  if (const MadeBook::Entry* const made = made_.find(name)) {
    const LaneFetched answer{
        .name = name, .digest = made->first, .made = true, .base = made->second.base};
    (void)seats_[index].socket->send(encode(LaneMessage(answer)), {made->second.content.get()});
    return;
  }
  if (look_ups_.size() >= most_questions)
    return drop_executor(index, "the executor asks for too many modules");
  look_ups_[name].insert(index);
  wanted_.notify_all();
}

/// What the program itself has loaded need not be deployed.
void CrewCore::look_up(Lock& lock, const std::string& wanted) {
  const bool is_digest = wanted.contains(':');  // or the beginning of one: else a function's name
  const auto known = std::ranges::find_if(
      modules_, [&](const auto& module) { return is_digest && module.first.starts_with(wanted); });
  LaneFetched answer{.name = wanted};
  int file = -1;
  UniqueFd fetched;
  if (known != modules_.end() && known->second->file) {
    answer.digest = known->first;
    file = known->second->file.get();
  } else {
    const std::shared_ptr<CrewModule> module = known == modules_.end() ? nullptr : known->second;
    lock.unlock();
    try {
      const auto bytes = module == nullptr ? source_->look_up(wanted)
                                           : source_->module(module->function, module->digest);
      if (auto made = make_sealed_memory("orchid-module", bytes)) {
        answer.digest = digest_of(bytes);
        fetched = std::move(*made);
      } else {
        answer.message = made.error().message;
      }
    } catch (const Error& error) {
      answer.code =
          error.kind() == ErrorKind::not_found ? ErrorCode::not_found : ErrorCode::unreachable;
      answer.message = error.message();
    }
    lock.lock();
    file = fetched.get();
  }
  const std::set<std::size_t> seats = std::exchange(look_ups_[wanted], {});
  look_ups_.erase(wanted);
  const std::vector<int> files = answer.digest.empty() ? std::vector<int>() : std::vector{file};
  for (const std::size_t seat : seats)
    if (seat < seats_.size() && seats_[seat].socket)
      (void)seats_[seat].socket->send(encode(LaneMessage(answer)), files);
}

}  // namespace orchid::sdk
