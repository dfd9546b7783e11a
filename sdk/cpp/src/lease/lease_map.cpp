// One function over many inputs.
#include <sched.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "foundation/cpu_pause.h"
#include "lease/call_batch.h"
#include "lease/call_objects.h"
#include "lease/lease_access.h"

namespace orchid {
namespace {

using sdk::BatchCall;
using sdk::CallBatch;
using sdk::LeaseAccess;
using sdk::LeaseCore;
using sdk::WorkerLane;

/// A call is a straggler once it has lasted so many times the median of those that are done, and
/// so long at least.
constexpr int straggler_factor = 4;
constexpr std::chrono::milliseconds straggler_least{20};
/// So often it looks for stragglers, late calls and lanes that do not get on.
constexpr std::chrono::milliseconds look_interval{5};
constexpr unsigned rounds_per_clock = 64;

/// Run times of the last calls.
class RunTimes {
 public:
  void add(std::chrono::nanoseconds time) { times_[count_++ % times_.size()] = time; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::chrono::nanoseconds median() const {
    auto sorted = times_;
    const std::size_t known = std::min(count_, times_.size());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return *middle;
  }

 private:
  std::array<std::chrono::nanoseconds, 256> times_{};
  std::size_t count_ = 0;
};

/// What is asked, and where the answers go.
struct Inputs {
  std::size_t count = 0;
  std::function<std::span<const std::byte>(std::size_t)> input;
  std::function<void(std::size_t, BatchCall&)> settled;
};

/// Belongs to the thread that called `map`. It drives all lanes that nobody else drives, and so
/// sends and receives without a lock; it leaves them to the lane thread while it sleeps.
class Mapping {
 public:
  Mapping(const LeasedFunction& function, const Inputs& inputs, const CallOptions& options,
          LeaseCore& core)
      : function_(function),
        inputs_(inputs),
        options_(options),
        objects_(sdk::objects_of(options)),
        core_(core),
        look_ticks_(core.rate().ticks(look_interval)) {
    if (options_.stop.stop_possible())
      cancels_.emplace(options_.stop, [this] {
        stopped_.store(true);
        core_.wake_batches();
      });
  }
  ~Mapping() {
    leave_lanes();
    if (prepared_ != nullptr) batch_->close(*prepared_);
    for (BatchCall* call : batch_->open_calls())
      if (!call->done()) core_.cancel(*call);
    CallBatch::abandon(std::move(batch_));
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void run() {
    std::uint64_t quiet_since = 0;
    for (unsigned round = 1; done_ < inputs_.count; ++round) {
      if (stopped_.load(std::memory_order_relaxed)) throw cancelled();
      bool moved = false;
      for (std::size_t i = 0; i < core_.lane_count(); ++i) moved |= serve(i);
      moved |= collect();
      if (moved) {
        quiet_since = 0;
        if (round % rounds_per_clock == 0) look_after_all(ticks_now());
        continue;
      }
      const std::uint64_t now = ticks_now();
      if (quiet_since == 0) quiet_since = now;
      look_after_all(now);
      if (may_spin(now - quiet_since)) continue;
      sleep();
      quiet_since = 0;
    }
  }

 private:
  /// Takes answers from a lane and fills it. True: something has happened.
  bool serve(std::size_t index) {
    WorkerLane& lane = core_.lane_at(index);
    if (index >= held_.size()) held_.resize(index + 1);
    if (!held_[index]) {
      if (lane.phase() != sdk::LanePhase::ready || (all_asked() && lane.load() == 0) ||
          !lane.try_drive())
        return false;
      held_[index] = true;
    }
    bool moved = lane.receive_answers(batch_.get());
    // Who waits in the queue is not overtaken.
    while (core_.waiting() == 0 && next_call() != nullptr) {
      BatchCall* const call = prepared_;
      if (lane.turn_of(*call) != sdk::Turn::now || !lane.send(*call)) break;
      prepared_ = nullptr;
      moved = true;
    }
    if (lane.phase() != sdk::LanePhase::ready || (all_asked() && lane.load() == 0)) leave(index);
    return moved;
  }

  /// The call of the next input, which is nowhere yet; null: there are no more.
  BatchCall* next_call() {
    if (prepared_ == nullptr && next_ < inputs_.count) prepared_ = &ask(next_++);
    return prepared_;
  }
  [[nodiscard]] bool all_asked() const { return prepared_ == nullptr && next_ == inputs_.count; }

  BatchCall& ask(std::size_t index) {
    BatchCall& call = batch_->open(index);
    LeaseAccess::ask(call, function_, options_);
    if (objects_ != nullptr) call.data = objects_;
    call.input = inputs_.input(index);
    return call;
  }

  void leave(std::size_t index) {
    held_[index] = false;
    core_.lane_at(index).leave();
  }
  void leave_lanes() {
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (held_[i]) leave(i);
  }

  bool collect() {
    bool any = !batch_->finished().empty();
    for (BatchCall* call : batch_->finished()) settle(*call);
    batch_->finished().clear();
    if (const std::uint32_t results = core_.batch_results(); results != results_seen_) {
      results_seen_ = results;
      any |= collect_all();
    }
    return any;
  }

  bool collect_all() {
    bool any = false;
    for (std::size_t i = 0; i < batch_->open_calls().size();) {
      BatchCall& call = *batch_->open_calls()[i];
      if (!call.done()) {
        ++i;
        continue;
      }
      any = true;
      settle(call);  // another takes its place in the list
    }
    return any;
  }

  void settle(BatchCall& call) {
    BatchCall* const twin = call.twin;
    if (twin != nullptr) twin->twin = nullptr;
    if (!call.unwanted) {
      if (call.error == nullptr) {
        times_.add(call.run_time);
        inputs_.settled(call.index, call);
        ++done_;
        if (twin != nullptr) {
          twin->unwanted = true;
          core_.cancel(*twin);
        }
      } else if (twin == nullptr) {
        sdk::throw_error(call, function_.name());
      }
    }
    batch_->close(call);
  }

  /// What is too slow to be done each time.
  void look_after_all(std::uint64_t ticks) {
    if (ticks - looked_ < look_ticks_) return;
    looked_ = ticks;
    const MonotonicTime now = std::chrono::steady_clock::now();
    const bool others_idle = core_.idle_workers() > 0;
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (held_[i]) core_.lane_at(i).supervise(now, others_idle);
    fill_queue();
    for (BatchCall* call : batch_->open_calls()) {
      if (call->since == MonotonicTime::min()) call->since = now;
      call->fix_due(now);
      if (now >= call->due && !call->done()) core_.overdue(*call);
    }
    if (all_asked() && !options_.at_most_once) start_again(now);
  }

  /// A few calls wait where any worker takes them, also while this thread sleeps.
  void fill_queue() {
    for (std::size_t room = 2 * std::size_t{core_.ready_workers()} + 2;
         core_.waiting() < room && next_call() != nullptr;)
      core_.enqueue(*std::exchange(prepared_, nullptr));
  }

  void start_again(MonotonicTime now) {
    if (times_.empty() || core_.waiting() != 0 || core_.idle_workers() == 0) return;
    const auto limit =
        std::max<std::chrono::nanoseconds>(times_.median() * straggler_factor, straggler_least);
    const std::vector<BatchCall*> open = batch_->open_calls();
    for (BatchCall* call : open) {
      if (core_.idle_workers() == 0) return;
      if (call->done() || call->unwanted || call->twin != nullptr || now - call->since < limit)
        continue;
      BatchCall& twin = ask(call->index);
      twin.twin = call;
      call->twin = &twin;
      core_.enqueue(twin);
    }
  }

  [[nodiscard]] bool may_spin(std::uint64_t quiet) const {
    const Wait wait = core_.options().wait;
    if (wait == Wait::blocking || (wait == Wait::adaptive && quiet >= core_.ticks().spin))
      return false;
    if (quiet > core_.ticks().alone)
      ::sched_yield();
    else
      cpu_pause();  // each look takes a line away from the worker, which wants to write there
    return true;
  }

  void sleep() {
    fill_queue();
    const MonotonicTime until = std::chrono::steady_clock::now() + look_interval;
    if (core_.lane_count() == 1 && held_.front()) return core_.lane_at(0).sleep(until);
    leave_lanes();
    core_.wait_for_batch_results(results_seen_, until);
  }

  [[nodiscard]] Error cancelled() const {
    return Error({.kind = ErrorKind::cancelled,
                  .message = "the calls were cancelled",
                  .function = function_.name()});
  }

  const LeasedFunction& function_;
  const Inputs& inputs_;
  const CallOptions& options_;
  const std::shared_ptr<const sdk::CallObjects> objects_;  // shared by its calls; null: none
  LeaseCore& core_;
  const std::uint64_t look_ticks_;
  std::unique_ptr<CallBatch> batch_ = std::make_unique<CallBatch>();
  std::vector<bool> held_;         // the lanes that this thread drives
  BatchCall* prepared_ = nullptr;  // the next one, of input `next_ - 1`
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  RunTimes times_;
  std::uint64_t looked_ = ticks_now();
  std::uint32_t results_seen_ = core_.batch_results();
  std::atomic<bool> stopped_{false};
  std::optional<std::stop_callback<std::function<void()>>> cancels_;  // last: it uses the others
};

}  // namespace

std::vector<Reply> Lease::map(const LeasedFunction& function,
                              std::span<const std::vector<std::byte>> inputs,
                              const CallOptions& options) {
  std::vector<Reply> replies(inputs.size());
  const Inputs all{
      .count = inputs.size(),
      .input = [inputs](std::size_t i) { return std::span(inputs[i]); },
      .settled = [&](std::size_t i,
                     BatchCall& call) { replies[i] = sdk::reply_of(call, function.name()); }};
  Mapping(function, all, options, *core_).run();
  return replies;
}

void Lease::for_each(const LeasedFunction& function, std::size_t count,
                     const std::function<std::span<const std::byte>(std::size_t)>& input,
                     const std::function<void(std::size_t, std::span<const std::byte>)>& output,
                     const CallOptions& options) {
  const Inputs all{.count = count, .input = input, .settled = [&](std::size_t i, BatchCall& call) {
                     output(i, call.output);
                   }};
  Mapping(function, all, options, *core_).run();
}

}  // namespace orchid
