// lease/call_batch.h: calls that one thread makes and looks after together.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "lease/direct_call.h"

namespace orchid::sdk {

class CallBatch;

/// One of them. Used again for a later input once it is done.
struct BatchCall : DirectCall {
  std::size_t index = 0;                       // of its input
  std::size_t place = 0;                       // among the open calls
  BatchCall* twin = nullptr;                   // the same input on another worker
  bool unwanted = false;                       // the twin has the result
  MonotonicTime since = MonotonicTime::min();  // it was first seen at about its start
  std::vector<std::byte> own_copy;             // of the input, from when it waits in a queue on
};

/// Belongs to its thread, apart from what is marked. It outlives that thread's interest, so that
/// nobody has to wait for calls whose results are not wanted any more.
class CallBatch {
 public:
  CallBatch() = default;
  CallBatch(const CallBatch&) = delete;
  CallBatch& operator=(const CallBatch&) = delete;

  /// A fresh call, listed as open.
  [[nodiscard]] BatchCall& open(std::size_t index);
  /// Unlists it; it may be used for another input.
  void close(BatchCall& call);
  [[nodiscard]] const std::vector<BatchCall*>& open_calls() const { return open_; }
  /// The driver of a lane, if that is this thread: the call is done.
  void finished_here(DirectCall& call) { finished_.push_back(&static_cast<BatchCall&>(call)); }
  /// Since the last look.
  [[nodiscard]] std::vector<BatchCall*>& finished() { return finished_; }
  /// A call that waits in a queue does not look at its caller's memory. Under the lease's lock.
  static void keep_input(DirectCall& call);

  /// Nobody waits for the open calls any more, which should have been cancelled.
  static void abandon(std::unique_ptr<CallBatch> batch);
  /// Any thread: one that was abandoned is done. It may have been the last, and all is gone then.
  void drop() {
    if (abandoned_.fetch_sub(1) == 1) delete this;
  }

 private:
  friend struct std::default_delete<CallBatch>;
  ~CallBatch() = default;
  std::deque<BatchCall> calls_;
  std::vector<BatchCall*> free_;
  std::vector<BatchCall*> open_;
  std::vector<BatchCall*> finished_;
  std::atomic<std::size_t> abandoned_{0};  // calls, and 1 while they are being counted
};

}  // namespace orchid::sdk
