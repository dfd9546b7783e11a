#include "flows/flow_inbox.h"

#include <ctime>
#include <utility>

#include "foundation/cpu_pause.h"

namespace orchid::cli {
namespace {

/// As long as a call's worker looks for the next one: a chain of short calls never sleeps.
constexpr std::chrono::microseconds spin{30};
constexpr std::chrono::milliseconds look_for_end{100};

}  // namespace

void FlowInbox::put(flow::Event event) {
  {
    const std::lock_guard lock(mutex_);
    taken_.events.push_back(std::move(event));
    count_.fetch_add(1, std::memory_order_release);
  }
  filled_.notify_one();
}

void FlowInbox::put_interrupt(bool must_end) {
  {
    const std::lock_guard lock(mutex_);
    ++taken_.interrupts;
    taken_.must_end = taken_.must_end || must_end;
    count_.fetch_add(1, std::memory_order_release);
  }
  filled_.notify_one();
}

FlowInbox::Taken FlowInbox::take(std::chrono::nanoseconds patience) {
  const auto start = std::chrono::steady_clock::now();
  while (!has_something() && std::chrono::steady_clock::now() - start < spin) cpu_pause();
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, patience, [this] { return has_something(); });
  count_.store(0, std::memory_order_release);
  return std::exchange(taken_, {});
}

FlowSignals::FlowSignals(FlowInbox& inbox) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGINT);
  ::sigaddset(&wanted, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  thread_ = std::jthread([&inbox, wanted](const std::stop_token& stop) {
    const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(look_for_end).count()};
    while (!stop.stop_requested()) {
      const int signal = ::sigtimedwait(&wanted, nullptr, &pause);
      if (signal > 0) inbox.put_interrupt(signal == SIGTERM);
    }
  });
}

FlowSignals::~FlowSignals() {
  thread_.request_stop();
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace orchid::cli
