// flows/flow_inbox.h: where a flow's events come together: answers of calls, and signals.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "flow/engine.h"

namespace orchid::cli {

/// Any thread puts in; one takes out. No more events come than calls are open.
class FlowInbox {
 public:
  void put(flow::Event event);
  void put_interrupt(bool must_end);

  struct Taken {
    std::vector<flow::Event> events;
    unsigned interrupts = 0;  // Ctrl-C, so often
    bool must_end = false;    // somebody ends the process
  };
  /// What has come, as soon as there is something; nothing after `patience`.
  [[nodiscard]] Taken take(std::chrono::nanoseconds patience);

 private:
  [[nodiscard]] bool has_something() const { return count_.load(std::memory_order_acquire) != 0; }

  std::mutex mutex_;
  std::condition_variable filled_;
  Taken taken_;                        // under the mutex
  std::atomic<std::size_t> count_{0};  // of what is in it
};

/// Takes SIGINT and SIGTERM of this process, for as long as it lives, into an inbox. Made before
/// any other thread, so that none of them gets the signals.
class FlowSignals {
 public:
  explicit FlowSignals(FlowInbox& inbox);
  ~FlowSignals();
  FlowSignals(const FlowSignals&) = delete;
  FlowSignals& operator=(const FlowSignals&) = delete;

 private:
  sigset_t before_{};
  std::jthread thread_;
};

}  // namespace orchid::cli
