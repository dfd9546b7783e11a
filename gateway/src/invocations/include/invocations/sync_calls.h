// invocations/sync_calls.h: the synchronous calls of one HTTP thread: each runs on this thread's
// runner, from its request to its answer, and becomes an asynchronous invocation when it outlives
// its caller's patience.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "calls/call.h"
#include "foundation/clock.h"
#include "foundation/owner_thread.h"
#include "invocations/async_invocations.h"
#include "invocations/call_metrics.h"
#include "invocations/invocation_id.h"
#include "invocations/invocation_view.h"
#include "invocations/recent_calls.h"
#include "placement/call_device.h"

namespace orchid::gateway {

struct SyncRequest {
  uid_t tenant = 0;
  std::shared_ptr<const FunctionVersion> version;
  std::uint16_t entry = 0;
  Payload input;
  MonotonicTime deadline;
  MonotonicTime wait_until;  // then it goes on without its caller
  bool at_most_once = false;
  std::optional<placement::HostKind> kind = std::nullopt;
  std::optional<placement::CallDevice> device = std::nullopt;
  std::string cluster = {};
  std::shared_ptr<const CallData> data = nullptr;
  std::string output_data = {};           // as of Call
  std::chrono::microseconds transfer{0};  // of CallTimings
};

struct SyncAnswer {
  std::string id;
  bool outlived = false;  // it goes on as an asynchronous invocation; `result` means nothing
  CallResult result;
};

/// Owned by its HTTP thread. Runner, asynchronous invocations and clock outlive it.
class SyncCalls {
 public:
  struct Parts {
    CallRunner& runner;
    AsyncInvocations& async;
    const Clock& clock;
    Poster here;     // to this thread
    Poster control;  // to the thread of `async`
  };
  struct Options {
    InvocationHome home = 1;
    std::size_t in_flight = 4096;
    RecentCalls::Options recent;
  };
  SyncCalls(Parts parts, Options options);
  void adopt_thread() { owner_.adopt(); }

  using Answer = std::function<void(SyncAnswer)>;
  /// The call's number; `answer` is called once, perhaps before this returns, unless the caller
  /// goes away. Errors, when `answer` is not called: `no_capacity` (too many are in flight),
  /// `quota` (too many of this function wait already).
  [[nodiscard]] Result<std::uint64_t> start(SyncRequest request, Answer answer);
  /// Nobody waits for the answer any more: stops the call, unless it has become asynchronous.
  void caller_gone(std::uint64_t number);
  /// Several times a second: lets calls go on without their callers.
  void sweep();

  /// A live or a recent call of this thread. Empty: neither, so it may be with the control thread.
  void wait(uid_t tenant, std::uint64_t number, ViewWait wait, ViewDone done);
  [[nodiscard]] std::vector<InvocationView> list(uid_t tenant, std::size_t limit) const;
  [[nodiscard]] std::optional<InvocationLog> log(uid_t tenant, std::uint64_t number) const;
  enum class Cancelled : std::uint8_t { unknown, asked, too_late };
  [[nodiscard]] Cancelled cancel(uid_t tenant, std::uint64_t number);
  [[nodiscard]] std::size_t in_flight() const { return live_.size(); }
  /// Read by any thread.
  [[nodiscard]] const CallMetrics& metrics() const { return metrics_; }

 private:
  struct Waiter {
    ViewWait wait;
    ViewDone done;
  };
  struct Live {
    SyncRequest request;
    MonotonicTime accepted;
    UnixMillis accepted_wall = 0;
    Answer answer;
    bool handed_over = false;  // it is an asynchronous invocation now
    std::vector<Waiter> waiters;
  };
  void ended(std::uint64_t number, CallResult result);
  void observe(MonotonicTime accepted, Outcome outcome);
  void remember(std::uint64_t number, Live& live, const CallResult& result, std::string log);
  void hand_over(std::uint64_t number, Live& live);
  void release_waiters(Live& live, MonotonicTime now, bool all, const InvocationView& view);
  [[nodiscard]] InvocationView view_of_live(std::uint64_t number, const Live& live) const;
  [[nodiscard]] UnixMillis wall(MonotonicTime time, const Live& live) const;

  Parts parts_;
  Options options_;
  InvocationIds ids_;
  RecentCalls recent_;
  CallMetrics metrics_;
  OwnerThread owner_;
  std::unordered_map<std::uint64_t, Live> live_;
};

}  // namespace orchid::gateway
