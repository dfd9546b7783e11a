// lease/lease_board.h: what a lease's callers and its workers' lanes leave for each other: calls
// that wait, modules to be loaded, and how the lease ended. It knows no lane, so that lanes use it,
// and whoever looks after the lanes (lease_core.h) uses both.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/tick_clock.h"
#include "lease/call_queue.h"
#include "lease/direct_call.h"
#include "lease/module_seats.h"
#include "orchid/client.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {

struct LeaseThreads;

/// Any thread. `mutex_` guards the queue, the modules and the end; it is never held while a lane is
/// waited for, user code runs or the gateway is asked. Who holds it takes no other lock.
class LeaseBoard : public std::enable_shared_from_this<LeaseBoard> {
 public:
  LeaseBoard(LeaseOptions options, std::shared_ptr<LeaseThreads> threads, const TickRate& rate);
  LeaseBoard(const LeaseBoard&) = delete;
  LeaseBoard& operator=(const LeaseBoard&) = delete;

  [[nodiscard]] const LeaseOptions& options() const { return options_; }
  [[nodiscard]] const TickRate& rate() const { return rate_; }
  /// Of waiting; worked out once, since that takes divisions.
  struct Ticks {
    std::uint64_t alone;   // a caller spins so long without giving others a turn on its core
    std::uint64_t spin;    // so long before it sleeps
    std::uint64_t socket;  // one that spins for long looks so often whether its worker has died
  };
  [[nodiscard]] const Ticks& ticks() const { return ticks_; }
  /// Null after the release.
  [[nodiscard]] std::shared_ptr<LeaseThreads> threads() const;

  // Calls.
  [[nodiscard]] unsigned waiting() const { return waiting_.load(); }
  [[nodiscard]] std::uint32_t queue_version() const { return queue_version_.load(); }
  /// False: it was refused, and is done.
  bool queue(DirectCall& call) { return queue(call, Place::last); }
  /// Calls that provably did not run wait again, before all others.
  void put_back(DirectCall& call) { queue(call, Place::first); }
  /// The first call whose turn it is at that lane; null: there is none.
  template <typename TurnOf>
  [[nodiscard]] DirectCall* take_waiting(WorkerLane& lane, TurnOf turn_of) {
    const std::lock_guard lock(mutex_);
    DirectCall* call = queue_.take(turn_of);
    if (call == nullptr) return nullptr;
    waiting_.fetch_sub(1);
    call->lane.store(&lane, std::memory_order_release);
    return call;
  }
  /// In a lease of separate processes: the same, for a lane whose worker has `has`; null: no
  /// module. Or, once it has no calls, the module that its worker is to have instead; it is counted
  /// as coming from then on. With neither it stays as it is.
  struct Next {
    DirectCall* call = nullptr;
    std::shared_ptr<LeaseCode> module{};
  };
  template <typename TurnOf>
  [[nodiscard]] Next take_next(WorkerLane& lane, const LeaseCode* has, bool is_empty,
                               TurnOf turn_of) {
    const std::lock_guard lock(mutex_);
    LeaseCode* wanted = module_to_load(has);
    if (wanted == nullptr) {
      std::vector<int> waiting(codes_.size());
      const MonotonicTime now = std::chrono::steady_clock::now();
      DirectCall* call = queue_.take([&](DirectCall& each) {
        const Turn turn = turn_of(each);
        // One of its own module waits for its data.
        const bool is_other = turn == Turn::never && each.code != has;
        return is_other ? turn_of_other(each, has, waiting, now, wanted) : turn;
      });
      if (call != nullptr) {
        waiting_.fetch_sub(1);
        call->lane.store(&lane, std::memory_order_release);
        return {.call = call};
      }
    }
    if (wanted == nullptr || !is_empty) return {};
    seats_.seat(&lane, wanted->number, ModuleSeats::State::coming);
    count_loads();
    return {.module = codes_[wanted->number]};
  }
  /// Whether a lane that has nothing to do should look: for calls, or a module to be loaded.
  [[nodiscard]] bool wants_lanes() const {
    return waiting_.load() != 0 || loads_wanted_.load(std::memory_order_relaxed) != 0;
  }
  /// In a lease of separate processes: modules that no worker has loaded yet, nor is about to.
  [[nodiscard]] unsigned loads_wanted() const {
    return loads_wanted_.load(std::memory_order_relaxed);
  }
  /// False: it does not wait in the queue.
  [[nodiscard]] bool remove_waiting(DirectCall& call);
  /// What a call that has waited until its deadline has waited for.
  [[nodiscard]] Error::Details why_late(const DirectCall& call) const;
  void finish(DirectCall& call);
  void finish_with(DirectCall& call, Error::Details why);
  static void park(DirectCall& call, MonotonicTime until);

  // Asynchronous calls.
  void list(AsyncCall& async);
  /// Those that are overdue; when to look again.
  [[nodiscard]] std::vector<std::shared_ptr<AsyncCall>> take_late(MonotonicTime now,
                                                                  MonotonicTime& next);

  // Batches.
  /// Counts calls of batches that others than their own thread have finished.
  [[nodiscard]] std::uint32_t batch_results() const { return batch_results_.load(); }
  /// Until that is no more `seen`, or `until`.
  void wait_for_batch_results(std::uint32_t seen, MonotonicTime until);
  void wake_batch_waiters();

  // Room in lanes.
  /// A lane that is left may have some for those who wait.
  void lane_left() {
    if (room_waiters_.load() != 0) tell_room_waiters();
  }
  /// Until `look` has seen all lanes undriven: what it found then.
  template <typename Look>
  [[nodiscard]] auto wait_for_room(Look look) {
    room_waiters_.fetch_add(1);
    std::unique_lock lock(room_mutex_);
    while (true) {
      lock.unlock();
      auto found = look();
      lock.lock();
      if (found) {
        room_waiters_.fetch_sub(1);
        return std::move(*found);
      }
      // One that was left between the look and here has told nobody.
      lane_left_.wait_for(lock, offer_interval);
    }
  }

  // Modules.
  [[nodiscard]] std::vector<std::shared_ptr<LeaseCode>> codes() const;
  [[nodiscard]] std::uint32_t codes_version() const { return codes_version_.load(); }
  /// The one with this digest; `module` may be empty. Throws when the lease has ended.
  [[nodiscard]] std::shared_ptr<LeaseCode> add_code(std::string digest, std::string function,
                                                    UniqueFd module);
  /// Of the calls of it that wait in the queue, the last one; nothing: none waits.
  [[nodiscard]] std::optional<MonotonicTime> last_deadline_of(const LeaseCode& code) const;
  /// Until a worker has loaded it; throws why none has.
  void await_code(const LeaseCode& code);
  void code_loaded(LeaseCode& code, const std::vector<std::string>& entries);
  /// One more lane waits until an executor has compiled it, or one less.
  void count_compiling(LeaseCode& code, bool waits);
  /// The worker of a lane has it now, or no longer.
  void count_ready(LeaseCode& code, bool is_ready);
  /// In a lease of separate processes: that lane's worker has this module; null: none.
  void seat(const WorkerLane& lane, const LeaseCode* module);
  void leave_seat(const WorkerLane& lane);
  /// True: it may be announced again.
  [[nodiscard]] bool code_rejected(LeaseCode& code, const LaneRejected& why);
  /// The module as a memory file; -1: it is being fetched.
  [[nodiscard]] int module_of(const std::shared_ptr<LeaseCode>& code);
  /// False: it cannot be had, and calls of it have failed.
  [[nodiscard]] bool module_fetched(LeaseCode& code, Result<UniqueFd> module);

  // Data.
  /// An executor does not have an object that calls wait for on that host: the keeper has it copied
  /// there.
  void data_missing(const DataId& data, const std::string& host);
  /// The calls that wait for it end. `may_pass`: only those that have met with that too often.
  void data_refused(const DataId& data, const Error::Details& why, bool may_pass);

  // What lanes tell.
  void lane_changed();
  /// It comes no more: the gateway may grant another worker.
  void lane_died();
  void lane_refused(const LaneRefused& why);
  /// The lane thread looks every few milliseconds at lanes with several calls in them, and at those
  /// that wait for their executor's word.
  void watch_closely() {
    if (!watching_.load(std::memory_order_relaxed)) watch_lanes();
  }
  [[nodiscard]] bool is_watching() const { return watching_.load(); }
  void watch(bool wanted) { watching_.store(wanted); }
  [[nodiscard]] std::optional<Error::Details> refusal() const;
  /// A worker has been lost lately.
  [[nodiscard]] bool is_searching() const;

  // The end.
  [[nodiscard]] bool ended() const;
  /// How, or why workers do not come.
  [[nodiscard]] std::optional<Error::Details> trouble() const;
  void throw_if_ended() const;
  /// False: it had ended before.
  bool close(const Error::Details& why);
  /// Until there is `enough`, the end, or `until`. False: not enough.
  template <typename Enough>
  [[nodiscard]] bool wait_for_lanes(MonotonicTime until, Enough enough) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return enough() || end_; });
    return !end_ && enough();
  }
  void drop_threads();

  /// A waiting call is offered to the lanes so often, beside whenever one of them has room.
  static constexpr std::chrono::milliseconds offer_interval{10};

 private:
  enum class Place : std::uint8_t { first, last };
  bool queue(DirectCall& call, Place place);
  [[nodiscard]] std::optional<Error::Details> refusal_of(const DirectCall& call) const;
  [[nodiscard]] LeaseCode* module_to_load(const LeaseCode* has) const;
  [[nodiscard]] Turn turn_of_other(const DirectCall& call, const LeaseCode* has,
                                   std::vector<int>& waiting, MonotonicTime now,
                                   LeaseCode*& wanted) const;
  void count_loads();
  void finish_async(AsyncCall& async);
  void tell_room_waiters();
  void watch_lanes();

  const LeaseOptions options_;
  const TickRate rate_;
  const Ticks ticks_;

  std::atomic<unsigned> waiting_{0};
  std::atomic<unsigned> loads_wanted_{0};
  std::atomic<unsigned> room_waiters_{0};
  std::atomic<std::uint32_t> queue_version_{0};  // grows with every call that waits
  std::atomic<std::uint32_t> codes_version_{0};
  std::atomic<std::uint32_t> batch_results_{0};
  std::atomic<unsigned> batch_sleepers_{0};
  std::atomic<bool> watching_{false};
  std::atomic<MonotonicTime::rep> next_due_{std::numeric_limits<MonotonicTime::rep>::max()};
  std::atomic<MonotonicTime::rep> search_ends_{std::numeric_limits<MonotonicTime::rep>::min()};

  mutable std::mutex mutex_;
  std::mutex room_mutex_;              // guards nothing but the wait for it
  std::condition_variable lane_left_;  // while there are room_waiters_
  std::condition_variable changed_;  // a worker came or went, a module was loaded, the lease ended
  std::shared_ptr<LeaseThreads> threads_;          // guarded by mutex_; empty after the release
  CallQueue<DirectCall> queue_;                    // guarded by mutex_
  std::list<AsyncCall*> asynchronous_;             // guarded by mutex_; not yet done
  std::vector<std::shared_ptr<LeaseCode>> codes_;  // guarded by mutex_; by number
  ModuleSeats seats_;                              // guarded by mutex_
  std::optional<Error::Details> end_;              // guarded by mutex_
  std::optional<Error::Details> refusal_;          // guarded by mutex_; the executor's last
  /// Where the keeper was last told to have which object copied to. Guarded by mutex_.
  std::map<std::pair<DataId, std::string>, MonotonicTime> copies_wanted_;
};

}  // namespace orchid::sdk
