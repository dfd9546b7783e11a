// lease/call_set.h: calls that one thread makes as others end, and looks after together.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lease/call_batch.h"
#include "lease/lane_keepers.h"
#include "lease/lease_core.h"
#include "orchid/lease.h"

namespace orchid::sdk {

/// Where `Lease::map` has all inputs before it begins, here each answer may lead to other calls, of
/// any functions. The thread takes answers by itself: none goes by another thread. It drives the
/// lease's lanes while it is in here, and between two visits until `rest`, or until the lease is
/// released. Belongs to that thread, apart from `wake` and `leave_lanes`.
class CallSet : private LaneKeeper {
 public:
  explicit CallSet(const orchid::Lease& lease);
  /// Cancels what is open.
  ~CallSet() override;
  CallSet(const CallSet&) = delete;
  CallSet& operator=(const CallSet&) = delete;

  /// `function` outlives the set. `number` is the caller's, and no other open call has it.
  void start(std::uint64_t number, const LeasedFunction& function, std::span<const std::byte> input,
             const CallOptions& options);
  /// Its end is not told. Nothing, if it has ended.
  void cancel(std::uint64_t number);

  struct Ended {
    std::uint64_t number = 0;
    std::vector<std::byte> output;
    std::chrono::nanoseconds run_time{0};
    const std::string* host = nullptr;      // lives as long as the lease; null: nobody has answered
    std::unique_ptr<Error::Details> error;  // null: it went well
  };
  /// Adds what has ended; waits for the first such call, for `patience`, or until `wake`.
  void take(std::vector<Ended>& ended, std::chrono::nanoseconds patience);
  /// The numbers of the calls whose end is still to be told.
  [[nodiscard]] std::vector<std::uint64_t> open() const;
  /// Leaves the lanes to others: before this thread does something that lasts.
  void rest();
  /// Any thread.
  void wake();

 private:
  void leave_lanes() override;
  void rest_now();
  [[nodiscard]] bool hold(std::size_t lane);
  [[nodiscard]] bool serve(std::size_t lane);
  [[nodiscard]] bool send_to_any(BatchCall& call);
  void collect(std::vector<Ended>& ended);
  void settle(BatchCall& call, std::vector<Ended>& ended);
  void look_after_all(std::uint64_t ticks);
  void put_in_queue();
  [[nodiscard]] bool may_spin(std::uint64_t quiet) const;
  void sleep(MonotonicTime until);

  std::shared_ptr<LeaseCore> core_;  // shared with the lease
  std::unique_ptr<CallBatch> batch_ = std::make_unique<CallBatch>();
  std::mutex visit_;                // held while the thread is in here
  std::vector<bool> held_;          // the lanes that this thread drives; guarded by visit_
  std::deque<BatchCall*> pending_;  // in no lane, nor in the lease's queue; guarded by visit_
  std::size_t next_lane_ = 0;       // where the search for a lane begins
  std::uint64_t looked_ = 0;
  std::uint32_t results_seen_ = 0;
  std::atomic<bool> woken_{false};
};

}  // namespace orchid::sdk
