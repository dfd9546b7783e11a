// lease/direct_call.h: one call on its way to a worker of a lease and back.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/unique_fd.h"
#include "lane_client/policy.h"
#include "lease/lane_end.h"
#include "orchid/error.h"

namespace orchid::sdk {

class CallBatch;
class LeaseCore;
class WorkerLane;
struct CallObjects;
struct LaneStream;

/// A module that the lease's workers load. The first three never change; the others are guarded by
/// the lease's mutex.
struct LeaseCode {
  unsigned number = 0;  // in the lease, counted from 0
  std::string digest;
  std::string function;              // its deployed name; empty: it was given as bytes
  bool loaded = false;               // by some worker, once
  std::vector<std::string> entries;  // once it is loaded; not changed after
  std::optional<Error::Details> rejected;
  unsigned failed_loads = 0;
  unsigned ready = 0;             // lanes whose workers have it
  unsigned compiling = 0;         // lanes whose executors say that it waits for a compiler
  MonotonicTime compiling_since;  // while there are any
  UniqueFd module;                // a sealed memory file; empty until an executor has asked for it
  bool fetching = false;          // the keeper is about to get it
};

enum class Destination : std::uint8_t { own_memory, callers_memory, in_place };

/// Belongs to its caller, then to the queue or the lane that it is in, until `state` is done. A
/// caller that waits keeps it on its stack.
struct DirectCall {
  enum class State : std::uint32_t { pending, parked, done, abandoned };

  // The question.
  LeaseCode* code = nullptr;
  std::uint16_t entry = 0;
  Destination destination = Destination::own_memory;
  bool at_most_once = false;
  bool follows = false;  // waits in a lane behind one other call, however long that lasts
  std::span<const std::byte> input;
  std::span<std::byte> room;                 // for `callers_memory`
  std::chrono::nanoseconds deadline{0};      // from the start of the call
  MonotonicTime due = MonotonicTime::min();  // min: not yet worked out, since clocks cost time
  LaneRoom* home = nullptr;                  // `input` lies in it
  LaneStream* stream = nullptr;              // it is one, and brings its input later
  /// That it is given; null: none. Shared with the other calls of a map.
  std::shared_ptr<const CallObjects> data = nullptr;

  // Its way.
  lane_client::CallHistory history;
  std::atomic<WorkerLane*> lane{nullptr};  // that it is in; null: it waits in the queue
  std::atomic<bool> cancel_wanted{false};
  std::atomic<bool> given_up{false};  // its deadline and the grace have passed
  bool waits_for_data = false;  // an idle worker had not mapped it; guarded by the lease's mutex

  // The answer.
  std::atomic<State> state{State::pending};
  std::size_t output_size = 0;
  std::chrono::nanoseconds run_time{0};
  const std::string* host = nullptr;  // of the worker that has answered; lives as long as the lease
  std::vector<std::byte> output;
  std::unique_ptr<HeldAnswer> held;
  std::unique_ptr<Error::Details> error;
  class AsyncCall* async = nullptr;  // null: somebody waits for it
  CallBatch* batch = nullptr;        // that it belongs to

  [[nodiscard]] bool done() const { return state.load(std::memory_order_acquire) == State::done; }
  /// Who is told by no more than `state` when the thread that drives its lane is the same.
  [[nodiscard]] const void* owner() const {
    return batch != nullptr ? static_cast<const void*>(batch) : this;
  }
  /// As new, but for the question.
  void begin_again() {
    due = MonotonicTime::min();
    history = {};
    lane.store(nullptr, std::memory_order_relaxed);
    cancel_wanted.store(false, std::memory_order_relaxed);
    given_up.store(false, std::memory_order_relaxed);
    waits_for_data = false;
    state.store(State::pending, std::memory_order_relaxed);
    output.clear();
    host = nullptr;
    error.reset();
  }
  /// Works it out with a clock that was read soon after the start.
  void fix_due(MonotonicTime now) {
    if (due == MonotonicTime::min()) due = now + deadline;
  }
};

/// A call that nobody needs to wait for.
class AsyncCall : public std::enable_shared_from_this<AsyncCall> {
 public:
  AsyncCall() { call.async = this; }
  AsyncCall(const AsyncCall&) = delete;
  AsyncCall& operator=(const AsyncCall&) = delete;

  DirectCall call;
  std::vector<std::byte> input;  // unless it lies in `home`
  std::unique_ptr<LaneRoom> home;
  std::string function;                    // for messages
  std::shared_ptr<LeaseCore> core;         // until it is done
  std::shared_ptr<LeaseCode> code;         // shared with the lease
  std::shared_ptr<AsyncCall> in_flight;    // itself, for as long as a queue or a lane knows it
  std::list<AsyncCall*>::iterator listed;  // in the lease; guarded by its mutex

  std::mutex mutex;
  bool taken = false;                                // guarded by mutex
  std::vector<std::function<void()>> continuations;  // guarded by mutex
  /// Cancels when the caller's token says so. Last: it must not run into what is destroyed.
  std::optional<std::stop_callback<std::function<void()>>> stop;
};

}  // namespace orchid::sdk
