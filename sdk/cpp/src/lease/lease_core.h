// lease/lease_core.h: a lease: its workers' lanes and, on its board (lease_board.h), what their
// callers share with them.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/lane_keepers.h"
#include "lease/lease_board.h"
#include "lease/lease_grant.h"
#include "lease/lease_source.h"
#include "lease/worker_lane.h"

namespace orchid::sdk {

/// Any thread. Calls lanes, which know the board only.
class LeaseCore : public LeaseBoard {
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
  /// Whoever sleeps over a batch looks around.
  void wake_batches();
  [[nodiscard]] std::unique_ptr<LaneRoom> allocate(std::size_t size);
  /// Returns when a worker has loaded the module.
  [[nodiscard]] std::shared_ptr<LeaseCode> load(std::string digest, std::string function,
                                                UniqueFd module);
  void release();
  /// Who drives lanes longer than a call of this class lasts.
  [[nodiscard]] LaneKeepers& keepers() { return keepers_; }
  [[nodiscard]] LeaseCapacity capacity() const;
  [[nodiscard]] unsigned ready_workers() const;
  [[nodiscard]] unsigned idle_workers() const;
  /// Of the workers that are there, for tools that look at them or bind them to cores.
  [[nodiscard]] std::vector<std::int64_t> worker_pids() const;
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] LeaseSource& source() const { return *source_; }

  // Lanes stay where they are until the end.
  [[nodiscard]] std::size_t lane_count() const {
    return lane_count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] WorkerLane& lane_at(std::size_t index) const {
    return *lanes_[index].load(std::memory_order_relaxed);
  }

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
  /// One that is alive is on one of these hosts, and not on that one.
  [[nodiscard]] bool has_worker_elsewhere(const std::vector<std::string>& hosts,
                                          const std::string& besides) const;
  /// What workers have mapped and no call has used lately.
  void detach_unused_data();
  void end(const Error::Details& why);
  void module_fetched(LeaseCode& code, Result<UniqueFd> module);

  static constexpr std::size_t lane_limit = 1024;

 private:
  template <typename Each>
  void for_each_lane(Each each) const {
    for (std::size_t i = 0; i < lane_count(); ++i) each(lane_at(i));
  }
  template <typename Which>
  [[nodiscard]] unsigned count_lanes(Which which) const {
    unsigned count = 0;
    for_each_lane([&](const WorkerLane& lane) { count += which(lane) ? 1 : 0; });
    return count;
  }
  [[nodiscard]] std::optional<Result<std::unique_ptr<LaneRoom>>> try_allocate(std::size_t size);
  [[nodiscard]] WorkerLane* take_idle_lane(const DirectCall& call);
  void offer();
  [[nodiscard]] bool supervise_lanes(MonotonicTime now);
  void poke_lanes();
  void wait_for_workers();

  const std::string id_;
  const unsigned cores_per_worker_;
  const std::uint64_t memory_;
  const std::shared_ptr<LeaseSource> source_;
  LaneKeepers keepers_;

  // Lanes are added, and stay until the end, also when they are dead: whoever looks needs no lock.
  std::array<std::atomic<WorkerLane*>, lane_limit> lanes_{};
  std::vector<std::unique_ptr<WorkerLane>> owned_lanes_;  // guarded by lanes_mutex_
  std::mutex lanes_mutex_;                                // taken to add lanes
  std::atomic<std::size_t> lane_count_{0};
  std::atomic<MonotonicTime::rep> renewed_at_;
  std::set<LeaseId> told_lost_;  // the keeper's thread's
};

}  // namespace orchid::sdk
