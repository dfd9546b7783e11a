// lease/lease_core.h: a lease as its callers share it: its workers' lanes, the calls that wait for
// one of them, and the modules that they load.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/tick_clock.h"
#include "lease/call_queue.h"
#include "lease/direct_call.h"
#include "lease/lease_grant.h"
#include "lease/lease_source.h"
#include "lease/worker_lane.h"
#include "orchid/client.h"

namespace orchid::sdk {

struct LeaseThreads;

/// Any thread. `mutex_` guards the queue, the modules and the end; it is never held while a lane is
/// waited for, user code runs or the gateway is asked. Who holds it takes no other lock.
class LeaseCore : public std::enable_shared_from_this<LeaseCore> {
 public:
  struct Terms {
    LeaseOptions options;
    LeaseGrant grant;
    std::shared_ptr<LeaseSource> source;    // shared: with the keeper, while it asks
    std::shared_ptr<LeaseThreads> threads;  // shared by all leases of a Client
    TickMark began = TickMark::now();       // what follows measures the clock
  };
  /// Connects to the granted workers and waits until enough of them are there. Throws
  /// `orchid::Error`, and has released the lease then.
  [[nodiscard]] static std::shared_ptr<LeaseCore> open(Terms terms);
  explicit LeaseCore(Terms terms);
  LeaseCore(const LeaseCore&) = delete;
  LeaseCore& operator=(const LeaseCore&) = delete;
  ~LeaseCore();

  // Callers.
  /// Returns when the call is done.
  void run(DirectCall& call);
  void start(const std::shared_ptr<AsyncCall>& async);
  /// Returns when the stream has a lane for itself, or is done without.
  void begin(LaneStream& stream);
  /// Until the call is done, or `until`; helps its lane meanwhile.
  void wait(DirectCall& call, MonotonicTime until);
  void cancel(DirectCall& call);
  /// Into the queue, where lanes take it from.
  void enqueue(DirectCall& call);
  /// To be called now and then after a call's deadline, by who waits for it.
  void overdue(DirectCall& call);
  /// Counts calls of batches that others than their own thread have finished.
  [[nodiscard]] std::uint32_t batch_results() const { return batch_results_.load(); }
  /// Until that is no more `seen`, or `until`.
  void wait_for_batch_results(std::uint32_t seen, MonotonicTime until);
  /// Whoever sleeps over a batch looks around.
  void wake_batches();
  [[nodiscard]] std::unique_ptr<LaneRoom> allocate(std::size_t size);
  /// Returns when a worker has loaded the module.
  [[nodiscard]] std::shared_ptr<LeaseCode> load(std::string digest, std::string function,
                                                UniqueFd module);
  void release();
  [[nodiscard]] LeaseCapacity capacity() const;
  [[nodiscard]] unsigned ready_workers() const;
  [[nodiscard]] unsigned idle_workers() const;
  /// Of the workers that are there, for tools that look at them or bind them to cores.
  [[nodiscard]] std::vector<std::int64_t> worker_pids() const;
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] LeaseSource& source() const { return *source_; }
  [[nodiscard]] const LeaseOptions& options() const { return options_; }

  // Lanes stay where they are until the end.
  [[nodiscard]] std::size_t lane_count() const {
    return lane_count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] WorkerLane& lane_at(std::size_t index) const {
    return *lanes_[index].load(std::memory_order_relaxed);
  }

  // Lanes, while they are driven.
  [[nodiscard]] unsigned waiting() const { return waiting_.load(); }
  [[nodiscard]] bool is_room_wanted() const { return room_waiters_.load() != 0; }
  void tell_room_waiters();  // after a lane was left
  [[nodiscard]] std::uint32_t queue_version() const { return queue_version_.load(); }
  [[nodiscard]] DirectCall* take_waiting(WorkerLane& lane);
  /// Calls that provably did not run wait again, before all others.
  void put_back(DirectCall& call);
  void finish(DirectCall& call);
  [[nodiscard]] std::vector<std::shared_ptr<LeaseCode>> codes() const;
  [[nodiscard]] std::uint32_t codes_version() const { return codes_version_.load(); }
  void code_loaded(LeaseCode& code, const std::vector<std::string>& entries);
  /// True: it may be announced again.
  [[nodiscard]] bool code_rejected(LeaseCode& code, const LaneRejected& why);
  /// The module as a memory file; -1: it is being fetched.
  [[nodiscard]] int module_of(LeaseCode& code);
  void lane_changed();
  /// Several calls are in one lane: the lane thread watches that they get on.
  void lane_is_deep() { watch_closely(); }
  /// The lane thread looks at lanes that want it every few milliseconds.
  void watch_closely() {
    if (!watching_.load(std::memory_order_relaxed)) watch_lanes();
  }
  void lane_refused(const LaneRefused& why);
  /// It comes no more: the gateway may grant another worker.
  void lane_died();
  [[nodiscard]] const TickRate& rate() const { return rate_; }
  /// Of waiting; worked out once, since that takes divisions.
  struct Ticks {
    std::uint64_t alone;   // a caller spins so long without giving others a turn on its core
    std::uint64_t spin;    // so long before it sleeps
    std::uint64_t socket;  // one that spins for long looks so often whether its worker has died
  };
  [[nodiscard]] const Ticks& ticks() const { return ticks_; }
  [[nodiscard]] std::shared_ptr<LeaseThreads> threads() const;

  // The lane thread and the keeper.
  /// Gives up asynchronous calls that are overdue; when the next one will be.
  MonotonicTime expire(MonotonicTime now);
  void add_workers(LeaseGrant grant);
  [[nodiscard]] bool has_live_lane() const;
  /// Those that the gateway has not been told of.
  [[nodiscard]] std::vector<LeaseId> lost_workers() const;
  void renewed(const std::vector<LeaseId>& told, LeaseGrant grant);
  /// No renewal has succeeded for as long as one lasts.
  [[nodiscard]] bool is_overdue() const;
  /// Some have been lost lately and not been replaced.
  [[nodiscard]] bool misses_workers() const;
  [[nodiscard]] bool ended() const;
  void end(Error::Details why);
  void module_fetched(LeaseCode& code, Result<UniqueFd> module);
  [[nodiscard]] std::optional<Error::Details> refusal() const;

  static constexpr std::size_t lane_limit = 1024;
  /// So long after its deadline a call in a lane waits for the executor's word on what became of
  /// it.
  static constexpr std::chrono::milliseconds last_words{250};

 private:
  [[nodiscard]] std::optional<Result<std::unique_ptr<LaneRoom>>> try_allocate(std::size_t size);
  [[nodiscard]] WorkerLane* take_idle_lane(const DirectCall& call);
  [[nodiscard]] std::optional<Error::Details> refusal_of(const DirectCall& call) const;
  MonotonicTime expire_calls(MonotonicTime now);
  void offer();
  void watch_lanes();
  [[nodiscard]] bool relieve_lanes(MonotonicTime now);
  static void park(DirectCall& call, MonotonicTime until);
  [[nodiscard]] bool remove_waiting(DirectCall& call);
  void poke_lanes();
  void finish_async(AsyncCall& async);
  void finish_with(DirectCall& call, Error::Details why);
  void add_lane(GrantedWorker worker);
  void wait_for_workers();

  const LeaseOptions options_;
  const std::string id_;
  const unsigned cores_per_worker_;
  const std::uint64_t memory_;
  const std::shared_ptr<LeaseSource> source_;
  const TickRate rate_;
  const Ticks ticks_;

  // Lanes are added, and stay until the end, also when they are dead: whoever looks needs no lock.
  std::array<std::atomic<WorkerLane*>, lane_limit> lanes_{};
  std::vector<std::unique_ptr<WorkerLane>> owned_lanes_;  // guarded by lanes_mutex_
  std::mutex lanes_mutex_;                                // taken to add lanes
  std::atomic<std::size_t> lane_count_{0};
  std::atomic<unsigned> waiting_{0};
  std::atomic<unsigned> room_waiters_{0};
  std::atomic<std::uint32_t> queue_version_{0};  // grows with every call that waits
  std::atomic<std::uint32_t> codes_version_{0};
  std::atomic<std::uint32_t> batch_results_{0};
  std::atomic<unsigned> batch_sleepers_{0};
  std::atomic<bool> watching_{false};  // the lane thread looks at deep lanes
  std::atomic<MonotonicTime::rep> next_due_{std::numeric_limits<MonotonicTime::rep>::max()};

  std::atomic<MonotonicTime::rep> renewed_at_;
  std::atomic<MonotonicTime::rep> search_ends_{std::numeric_limits<MonotonicTime::rep>::min()};

  mutable std::mutex mutex_;
  std::mutex room_mutex_;              // guards nothing but the wait for it
  std::condition_variable lane_left_;  // while is_room_wanted()
  std::condition_variable changed_;  // a worker came or went, a module was loaded, the lease ended
  std::shared_ptr<LeaseThreads> threads_;          // guarded by mutex_; empty after the release
  CallQueue<DirectCall> queue_;                    // guarded by mutex_
  std::list<AsyncCall*> asynchronous_;             // guarded by mutex_; not yet done
  std::vector<std::shared_ptr<LeaseCode>> codes_;  // guarded by mutex_; by number
  std::set<LeaseId> told_lost_;                    // guarded by mutex_
  std::optional<Error::Details> end_;              // guarded by mutex_
  std::optional<Error::Details> refusal_;          // guarded by mutex_; the executor's last
};

}  // namespace orchid::sdk
