// flow_run/flow_inbox.h: where a flow's events come together: answers of calls, and what others
// want of it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "flow/engine.h"

namespace orchid::flow {

/// Any thread puts in; one takes out. No more events come than calls are open.
class FlowInbox {
 public:
  void put(Event event);
  /// Somebody wants the flow to end; unless `must_end`, its watch is asked first.
  void put_interrupt(bool must_end);

  struct Taken {
    std::vector<Event> events;
    unsigned interrupts = 0;  // so often
    bool must_end = false;
  };
  /// What has come, as soon as there is something; nothing after `patience`.
  [[nodiscard]] Taken take(std::chrono::nanoseconds patience);
  /// The same, without a wait.
  [[nodiscard]] Taken take_now();
  /// For who waits elsewhere: `wake` is called after each put, by the thread that puts. Empty: no
  /// more, from when this returns.
  void on_put(std::function<void()> wake);

 private:
  [[nodiscard]] bool has_something() const { return count_.load(std::memory_order_acquire) != 0; }

  void filled();

  std::mutex mutex_;
  std::condition_variable filled_;
  std::mutex wake_mutex_;
  std::function<void()> wake_;         // under the wake mutex
  Taken taken_;                        // under the mutex
  std::atomic<std::size_t> count_{0};  // of what is in it
};

}  // namespace orchid::flow
