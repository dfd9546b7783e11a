#include "flow_run/flow_inbox.h"

#include <utility>

#include "foundation/cpu_pause.h"

namespace orchid::flow {
namespace {

/// As long as a call's worker looks for the next one: a chain of short calls never sleeps.
constexpr std::chrono::microseconds spin{30};

}  // namespace

void FlowInbox::put(Event event) {
  {
    const std::lock_guard lock(mutex_);
    taken_.events.push_back(std::move(event));
    count_.fetch_add(1, std::memory_order_release);
  }
  filled();
}

void FlowInbox::put_interrupt(bool must_end) {
  {
    const std::lock_guard lock(mutex_);
    ++taken_.interrupts;
    taken_.must_end = taken_.must_end || must_end;
    count_.fetch_add(1, std::memory_order_release);
  }
  filled();
}

void FlowInbox::filled() {
  filled_.notify_one();
  const std::lock_guard lock(wake_mutex_);
  if (wake_) wake_();
}

void FlowInbox::on_put(std::function<void()> wake) {
  const std::lock_guard lock(wake_mutex_);
  wake_ = std::move(wake);
}

FlowInbox::Taken FlowInbox::take_now() {
  if (!has_something()) return {};
  const std::lock_guard lock(mutex_);
  count_.store(0, std::memory_order_release);
  return std::exchange(taken_, {});
}

FlowInbox::Taken FlowInbox::take(std::chrono::nanoseconds patience) {
  const auto start = std::chrono::steady_clock::now();
  while (!has_something() && std::chrono::steady_clock::now() - start < spin) cpu_pause();
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, patience, [this] { return has_something(); });
  count_.store(0, std::memory_order_release);
  return std::exchange(taken_, {});
}

}  // namespace orchid::flow
