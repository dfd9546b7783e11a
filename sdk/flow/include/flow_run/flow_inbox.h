// flow_run/flow_inbox.h: where a flow's events come together: answers of calls, and what others
// want of it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
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

 private:
  [[nodiscard]] bool has_something() const { return count_.load(std::memory_order_acquire) != 0; }

  std::mutex mutex_;
  std::condition_variable filled_;
  Taken taken_;                        // under the mutex
  std::atomic<std::size_t> count_{0};  // of what is in it
};

}  // namespace orchid::flow
