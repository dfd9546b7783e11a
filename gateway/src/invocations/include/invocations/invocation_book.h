// invocations/invocation_book.h: the asynchronous invocations that have no durable outcome yet, and
// what may happen to each. Plain data: no store, no thread; time is passed in.
//
//   queued ──start──► starting ──handed_over──► running ──ended──► ending ──stored──► (gone; the
//   store knows it)
//     ▲                  │                         │                  ▲
//     └──────── no worker for it: requeue ◄────────┘                  │
//     └───────────── cancel, deadline passed ─────────────────────────┘
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calls/call.h"
#include "foundation/metrics_text.h"
#include "placement/call_device.h"
#include "placement/worker_request.h"
#include "store/records.h"

namespace orchid::gateway {

enum class InvocationState : std::uint8_t {
  queued,    // durable, waiting for a slot
  starting,  // has a slot; its input or its attempt is on the way from or to the store
  running,   // handed to an HTTP thread's runner
  ending,    // it has an outcome that is not durable yet
};

struct InvocationLine;

struct BookedInvocation {
  InvocationRecord record;
  std::shared_ptr<const FunctionVersion> version;
  std::uint16_t entry = 0;
  std::shared_ptr<const CallData> data = nullptr;  // null: none, or not known yet where it is
  std::optional<MonotonicTime> data_awaited{};  // since when, while it is on its way to the worker
  std::chrono::microseconds transfer{0};        // so long it was, before that
  std::optional<std::chrono::milliseconds> queued{};  // until it was first given to a runner
  InvocationState state = InvocationState::queued;
  std::size_t runner = 0;          // from `starting` on
  bool cancel_requested = false;   // noticed at the next step
  bool extra = false;              // a synchronous call that went on: it holds no slot
  std::uint64_t place = 0;         // in the queue; kept when it comes back
  bool held = false;               // queued, but its function has as many running as it may
  bool found_no_place = false;     // for the like of it, when it was last tried
  InvocationLine* line = nullptr;  // in which it stands, or holds a slot; the book's
  ConcurrencyGate::Place gate_place = nullptr;  // once it may run
};

/// Which calls wait for the same: one that has no place keeps all behind it waiting.
struct InvocationLineKey {
  const FunctionNeeds* function = nullptr;  // null: any whose calls need one core
  std::optional<placement::HostKind> kind;
  std::optional<placement::CallDevice> device;
  std::string cluster{};
  ModuleHosts hosts;
  placement::GrantId data_at{};  // of the executor with their data; empty: they have none
  friend auto operator<=>(const InvocationLineKey&, const InvocationLineKey&) = default;
};

/// Plain data of the book.
struct InvocationLine {
  InvocationLineKey key;
  std::map<std::uint64_t, BookedInvocation*> queue{};  // by place
  std::vector<std::size_t> busy{};                     // slots in use, for each runner
  MonotonicTime paused_until{};
  [[nodiscard]] bool is_idle() const;
};

/// Owned by the control thread.
class InvocationBook {
 public:
  struct Limits {
    std::size_t queued = 100'000;         // more are refused
    std::size_t clusters = 64;            // that queued ones name; more are refused
    std::size_t running_per_runner = 64;  // of one line
    /// Of all lines: their inputs are in memory. Beyond it each line may still have one.
    std::size_t running_per_runner_in_all = 256;
    std::chrono::milliseconds pause_without_capacity{250};
  };
  InvocationBook(Limits limits, std::size_t runners);

  /// Errors: `quota`.
  [[nodiscard]] Result<void> check_room(std::size_t on_the_way) const;
  /// Whether one more may wait for that cluster; empty: for none. Errors: `quota`.
  [[nodiscard]] Result<void> check_cluster_room(const std::string& cluster) const;
  void accept(BookedInvocation invocation);
  /// A synchronous call that outlived its wait; it runs already.
  void adopt_running(BookedInvocation invocation, std::size_t runner);
  /// Whether any host is there that could ever run a call that asks for such a worker.
  using HasSupply = std::function<bool(placement::WorkerRequest worker)>;
  /// The oldest queued one that there is supply for, given a slot of the least busy runner; null
  /// when none can start now.
  [[nodiscard]] BookedInvocation* start_next(MonotonicTime now, const HasSupply& has_supply);
  /// The workers of queued ones that there is no supply for, by tenant: of each line as many as it
  /// may have running.
  [[nodiscard]] std::map<uid_t, std::vector<placement::WorkerDemand>> kept_back(
      const HasSupply& has_supply) const;
  /// Back from `starting`: it waits aside, in nobody's way, until it is let in.
  void hold(BookedInvocation& invocation);
  /// It may run now. Nothing happens when it does not wait any more.
  void let_in(const std::string& id, ConcurrencyGate::Place place);
  /// False: it was cancelled meanwhile, and is to be ended.
  [[nodiscard]] bool hand_over(BookedInvocation& invocation);

  enum class Cancelled : std::uint8_t { unknown, end_now, ask_runner, noted, too_late };
  [[nodiscard]] Cancelled cancel(uid_t tenant, const std::string& id);
  /// What the runner reported; true: it waits again, since no worker took it and time is left. Else
  /// it is `ending`.
  [[nodiscard]] bool ended(BookedInvocation& invocation, Outcome outcome, bool reached_worker,
                           MonotonicTime now, UnixMillis wall_now);
  /// From any state: an outcome that is to be stored.
  void end(BookedInvocation& invocation);
  /// The outcome is durable.
  void stored(const std::string& id);
  /// Queued ones whose deadline has passed. They are to be ended.
  [[nodiscard]] std::vector<BookedInvocation*> expired(UnixMillis wall_now);
  /// The clusters that queued ones name, and those that name one of them. They may be ended.
  [[nodiscard]] std::set<std::string> waiting_clusters() const;
  [[nodiscard]] std::vector<BookedInvocation*> waiting_for(const std::string& cluster) const;

  [[nodiscard]] BookedInvocation* find(const std::string& id);
  [[nodiscard]] const BookedInvocation* find(uid_t tenant, const std::string& id) const;
  [[nodiscard]] std::size_t queued_count() const { return deadlines_.size(); }
  [[nodiscard]] std::size_t running_count() const { return invocations_.size() - queued_count(); }
  void add_metrics(MetricsText& text) const;

 private:
  void enter_queue(BookedInvocation& invocation);
  void leave_queue(const BookedInvocation& invocation);
  void leave_slot(BookedInvocation& invocation);
  using Line = InvocationLine;
  /// Calls of functions with needs, and those that have found no place, stand in lines of their
  /// function's; all others in one for each set of hosts that they ask for. A line has slots of its
  /// own: who waits for a place of that kind, or stops for want of one, is in no other one's way.
  using Lines = std::map<InvocationLineKey, Line>;
  [[nodiscard]] static const FunctionNeeds* line_function(const BookedInvocation& invocation);
  [[nodiscard]] Line& line_of(const BookedInvocation& invocation);
  void leave_line(const Line& line);
  void sort_out_heads();
  [[nodiscard]] bool has_slot(const Line& line) const;
  [[nodiscard]] BookedInvocation& give_slot(Line& line);

  Limits limits_;
  std::size_t runners_;
  std::unordered_map<std::string, BookedInvocation> invocations_;
  Lines lines_;
  std::size_t slots_in_use_ = 0;                                                 // of all lines
  std::map<std::uint64_t, BookedInvocation*> held_;                              // by place
  std::map<std::pair<UnixMillis, std::uint64_t>, BookedInvocation*> deadlines_;  // of all queued
  std::uint64_t next_place_ = 1;
};

}  // namespace orchid::gateway
