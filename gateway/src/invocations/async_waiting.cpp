// invocations/async_waiting.cpp: who waits for an invocation's end, or for its next state.
#include <utility>

#include "invocations/async_invocations.h"

namespace orchid::gateway {

template <typename Due>
std::vector<AsyncInvocations::Waiter> AsyncInvocations::take_waiters(const std::string& id,
                                                                     const Due& is_due) {
  std::vector<Waiter> due;
  const auto [first, last] = waiters_.equal_range(id);
  for (auto w = first; w != last;) {
    if (!is_due(w->second)) {
      ++w;
      continue;
    }
    due.push_back(std::move(w->second));
    w = waiters_.erase(w);
  }
  return due;
}

void AsyncInvocations::notify(const FinishedInvocation& ended) {
  for (const Waiter& waiter : take_waiters(ended.record.id, [](const Waiter&) { return true; }))
    waiter.done(std::optional(
        InvocationView{.record = ended.record, .synchronous = false, .output = ended.output}));
}

void AsyncInvocations::notify_of_state(const BookedInvocation& invocation) {
  const StoredState state = invocation.record.state;
  const auto is_due = [state](const Waiter& waiter) {
    return waiter.wait.known && *waiter.wait.known != state;
  };
  for (Waiter& waiter : take_waiters(invocation.record.id, is_due))
    view_running(invocation, std::move(waiter.done));
}

void AsyncInvocations::wait(uid_t tenant, const std::string& id, ViewWait wait, ViewDone done) {
  owner_.assert_current();
  if (const BookedInvocation* invocation = book_.find(tenant, id); invocation != nullptr) {
    if (wait.goes_on(invocation->record.state, parts_.clock.now()) && !draining_) {
      waiters_.emplace(id, Waiter{tenant, wait, std::move(done)});
    } else {
      view_running(*invocation, std::move(done));
    }
    return;
  }
  parts_.store.find(
      tenant, id,
      on_thread<std::optional<InvocationRecord>>(
          parts_.control, [done = std::move(done)](Result<std::optional<InvocationRecord>> found) {
            if (!found) return done(fail(std::move(found.error())));
            if (!*found) return done(std::optional<InvocationView>{});
            done(std::optional(InvocationView{.record = std::move(**found), .synchronous = false}));
          }));
}

void AsyncInvocations::answer_late_waiters(MonotonicTime now) {
  std::vector<std::pair<std::string, Waiter>> due;
  for (auto w = waiters_.begin(); w != waiters_.end();) {
    if (w->second.wait.until > now && !draining_) {
      ++w;
      continue;
    }
    due.emplace_back(w->first, std::move(w->second));
    w = waiters_.erase(w);
  }
  for (auto& [id, waiter] : due) wait(waiter.tenant, id, {}, std::move(waiter.done));
}

}  // namespace orchid::gateway
