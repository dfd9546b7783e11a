// lease/lane_connector.h: threads that connect to workers of other hosts. That takes round trips
// and may time out, and no other lane shall wait for it.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace orchid::sdk {

/// One for all leases of a Client; it has no thread before the first task. Its functions may be
/// called by any thread.
class LaneConnector {
 public:
  static constexpr std::size_t most_threads = 4;

  LaneConnector() = default;
  LaneConnector(const LaneConnector&) = delete;
  LaneConnector& operator=(const LaneConnector&) = delete;
  /// Waits for the tasks that run, and drops the others.
  ~LaneConnector();

  /// `task` may block for seconds. The tasks that wait are as many as there are lanes, at most.
  void post(std::function<void()> task);

 private:
  /// Shared with the threads, one of which may drop the last reference to their owner.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;                    // guarded by mutex
    std::size_t idle = 0;                     // guarded by mutex
    std::deque<std::function<void()>> tasks;  // guarded by mutex
  };
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::vector<std::thread> threads_;  // guarded by shared_->mutex
};

}  // namespace orchid::sdk
