// invocations/async_invocations.h: asynchronous invocations from acceptance to a durable outcome.
//
// The book decides; this file talks to the store and to the runners of the HTTP threads. An
// accepted invocation is durable before its caller hears of it, and its outcome is durable before
// anybody sees it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calls/call.h"
#include "calls/worker_for.h"
#include "foundation/clock.h"
#include "foundation/owner_thread.h"
#include "foundation/task.h"
#include "invocations/durable_outcomes.h"
#include "invocations/invocation_book.h"
#include "invocations/invocation_id.h"
#include "invocations/invocation_view.h"
#include "placement/call_device.h"
#include "store/store.h"

namespace orchid::gateway {

/// An HTTP thread as seen from the control thread: `runner` is touched by tasks on that thread
/// only.
struct RunnerPort {
  Poster post;
  CallRunner* runner = nullptr;
};

struct AsyncSubmission {
  uid_t tenant = 0;
  std::shared_ptr<const FunctionVersion> version;
  std::uint16_t entry = 0;
  std::optional<std::string> idempotency_key;
  std::string reference;  // of the function, as the caller wrote it; with a key
  bool at_most_once = false;
  std::optional<placement::HostKind> kind = std::nullopt;
  std::optional<placement::CallDevice> device = std::nullopt;
  std::string cluster = {};
  std::shared_ptr<const CallData> data = nullptr;
  std::string output_data = {};  // as of Call
  UnixMillis accepted = 0;
  UnixMillis deadline = 0;
  Payload input;
};

/// Owned by the control thread. Completions run there too.
class AsyncInvocations {
 public:
  struct Parts {
    Store& store;
    const Clock& clock;
    Poster control;
    std::vector<RunnerPort> runners;
    InvocationBook::HasSupply has_supply;  // asked on this thread
    CallDataFinder find_data{};            // likewise
    CheckCluster check_cluster{};          // likewise; null: none is refused
  };
  struct Options {
    InvocationBook::Limits limits;
    std::chrono::milliseconds keep_finished{24 * 3'600'000};
  };
  AsyncInvocations(Parts parts, Options options);
  void adopt_thread() { owner_.adopt(); }

  /// At start-up, with the deployed versions by digest: what was accepted before runs again; what
  /// may not, ends with worker_lost.
  using VersionFinder =
      std::function<std::shared_ptr<const FunctionVersion>(const InvocationRecord& record)>;
  void restore(std::vector<InvocationRecord> unfinished, const VersionFinder& find_version);

  /// Done with the invocation, new or the one that had the same idempotency key. Errors: `quota`,
  /// `conflict` (the key was used for another function or input), `disk_full`, `system`.
  void submit(AsyncSubmission submission, Completion<InsertedInvocation> done);
  /// A synchronous call goes on without its request; its runner reports to `ended`. Errors as for
  /// `submit`.
  void adopt(std::string id, AsyncSubmission submission, std::size_t runner, Completion<void> done);
  void ended(const std::string& id, CallResult result);

  /// The invocation when it has ended, or as it is when the wait is over.
  void wait(uid_t tenant, const std::string& id, ViewWait wait, ViewDone done);
  void list(InvocationFilter filter, Completion<std::vector<InvocationRecord>> done);
  /// Asks for a stop. Errors: `not_found`, `conflict` (it has ended).
  void cancel(uid_t tenant, const std::string& id, Completion<void> done);
  void output(std::string id, Completion<std::vector<std::byte>> done);
  void log(const InvocationRecord& record, Completion<InvocationLog> done);

  /// Several times a second.
  void tick();
  /// At the end of the process, first: starts nothing any more, and lets nobody wait; what runs may
  /// end.
  void drain();
  /// Then: takes no more results. What still runs, runs again after the next start.
  void stop() { stopped_ = true; }
  [[nodiscard]] std::size_t queued_count() const { return book_.queued_count(); }
  /// What is wanted for those that no connected host could run, by tenant.
  [[nodiscard]] std::map<uid_t, std::vector<placement::WorkerDemand>> kept_back() const {
    return book_.kept_back(parts_.has_supply);
  }
  [[nodiscard]] std::size_t running_count() const { return book_.running_count(); }
  void add_metrics(MetricsText& text) const { book_.add_metrics(text); }

 private:
  struct Waiter {
    uid_t tenant;
    ViewWait wait;
    ViewDone done;
  };
  void accepted(InvocationRecord record, AsyncSubmission submission);
  void pump();
  [[nodiscard]] bool pass_gate(BookedInvocation& invocation);
  void start(BookedInvocation& invocation);
  void input_read(const std::string& id, Result<std::vector<std::byte>> input);
  void hand_over(BookedInvocation& invocation, Payload input);
  [[nodiscard]] bool find_its_data(BookedInvocation& invocation);
  void end_transfer(BookedInvocation& invocation);
  void add_waits(BookedInvocation& invocation, CallTimings& timings);
  void finish(BookedInvocation& invocation, CallResult result);
  /// Those for which `is_due` holds; they wait no more.
  template <typename Due>
  [[nodiscard]] std::vector<Waiter> take_waiters(const std::string& id, const Due& is_due);
  void notify(const FinishedInvocation& ended);
  void notify_of_state(const BookedInvocation& invocation);
  void answer_late_waiters(MonotonicTime now);
  void look_at_clusters(MonotonicTime now);  // async_clusters.cpp
  void view_running(const BookedInvocation& invocation, ViewDone done);
  [[nodiscard]] UnixMillis wall_now() const;

  Parts parts_;
  Options options_;
  MonotonicTime data_returns_by_;
  InvocationBook book_;
  DurableOutcomes outcomes_;
  InvocationIds ids_{control_home};
  OwnerThread owner_;
  std::size_t on_the_way_ = 0;                   // submissions that are not durable yet
  std::map<std::string, Payload> fresh_inputs_;  // of invocations that start right after acceptance
  std::size_t fresh_bytes_ = 0;
  std::multimap<std::string, Waiter> waiters_;
  MonotonicTime next_cleaning_{};
  MonotonicTime next_look_at_clusters_{};
  std::map<std::string, MonotonicTime> unknown_since_;  // clusters that calls wait for
  bool draining_ = false;
  bool stopped_ = false;
};

}  // namespace orchid::gateway
