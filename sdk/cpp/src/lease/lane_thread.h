// lease/lane_thread.h: the thread that drives lanes which nobody else drives.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "foundation/unique_fd.h"

namespace orchid::sdk {

class LeaseCore;
class WorkerLane;

/// One for all leases of a Client. It sleeps in epoll over the lanes' sockets and wake descriptors,
/// runs what callers asked to be run after their calls, and gives up asynchronous calls that are
/// overdue. Lanes wait for a callback for as long as that lasts, and for several of them a
/// millisecond at most. Its functions may be called by any thread.
class LaneThread {
 public:
  LaneThread();
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;
  ~LaneThread();

  enum class Events : std::uint8_t {
    readable,
    both,        // writable as well
    when_armed,  // readable, once after each `arm`
  };
  /// The lane gets driven whenever `descriptor` becomes so. Returns the watch's name.
  [[nodiscard]] std::uint64_t watch(int descriptor, std::weak_ptr<const void> lease,
                                    WorkerLane& lane, Events events = Events::readable);
  /// Of a watch made so. UCX's descriptor tells of each answer, whoever drives the lane: nobody is
  /// to be woken unless all have left it.
  void arm(int descriptor, std::uint64_t watch);
  /// Before the descriptor is closed.
  void forget(int descriptor, std::uint64_t watch);
  void post(std::function<void()> task);
  /// Looks at this lease's deadlines from now on.
  void look_after(std::weak_ptr<LeaseCore> core);
  /// A deadline may have come that is earlier than all others.
  void wake();

 private:
  struct Watched {
    std::weak_ptr<const void> lease;  // keeps the lane
    WorkerLane* lane = nullptr;
  };
  /// Shared with the thread, which may be the one that drops the last reference to its owner.
  struct Shared {
    UniqueFd epoll;
    UniqueFd wake_event;
    std::mutex mutex;
    bool stopping = false;                               // guarded by mutex
    std::uint64_t next_watch = 1;                        // guarded by mutex
    std::unordered_map<std::uint64_t, Watched> watched;  // guarded by mutex
    std::vector<std::function<void()>> tasks;            // guarded by mutex
    std::vector<std::weak_ptr<LeaseCore>> cores;         // guarded by mutex
  };
  static void run(const std::shared_ptr<Shared>& shared);
  static void drive(Shared& shared, std::uint64_t watch);
  [[nodiscard]] static int look_at_deadlines(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace orchid::sdk
