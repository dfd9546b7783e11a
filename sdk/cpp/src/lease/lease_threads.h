// lease/lease_threads.h: the threads that all leases of a Client share. They start with its first
// lease, those that connect to other hosts with the first such worker, and end with the last lease.
#pragma once
#include <memory>
#include <mutex>

#include "lease/lane_connector.h"
#include "lease/lane_thread.h"
#include "lease/lease_keeper.h"

namespace orchid::sdk {

struct LeaseThreads {
  LaneThread lanes;
  LeaseKeeper keeper;
  LaneConnector connector;
};

/// What a Client and its copies share. Any thread.
class SharedLeaseThreads {
 public:
  /// Of all leases that are held now; made when there are none.
  [[nodiscard]] std::shared_ptr<LeaseThreads> get() {
    const std::lock_guard lock(mutex_);
    auto threads = threads_.lock();
    if (threads == nullptr) {
      threads = std::make_shared<LeaseThreads>();
      threads_ = threads;
    }
    return threads;
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<LeaseThreads> threads_;  // guarded by mutex_; the leases keep them
};

}  // namespace orchid::sdk
