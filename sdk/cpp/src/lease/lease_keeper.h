// lease/lease_keeper.h: the thread that asks the gateway, so that no call ever waits for it.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "foundation/clock.h"
#include "lease/direct_call.h"
#include "protocol/data_id.h"

namespace orchid::sdk {

/// One for all leases of a Client. It renews them, connects to workers that were added, and gets
/// the modules that executors ask for. A gateway that does not answer ends no lease: the executor
/// decides that. Its functions may be called by any thread.
class LeaseKeeper {
 public:
  LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  ~LeaseKeeper();

  void keep(std::weak_ptr<LeaseCore> core);
  /// Workers are gone: the gateway may have others.
  void renew_soon(const std::weak_ptr<const void>& lease);
  void fetch(const std::weak_ptr<const void>& lease, std::shared_ptr<LeaseCode> code);
  /// Has a data object copied to a host, where a worker of the lease lacks it.
  void bring(const std::weak_ptr<const void>& lease, const DataId& data, std::string host);

 private:
  struct Kept {
    std::weak_ptr<LeaseCore> core;
    MonotonicTime next;
  };
  /// Something that a lease wants to know of the gateway.
  struct Errand {
    std::weak_ptr<LeaseCore> core;
    std::function<void(LeaseCore&)> run;
  };
  /// Shared with the thread, which may be the one that drops the last reference to its owner.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;       // guarded by mutex
    std::vector<Kept> kept;      // guarded by mutex
    std::deque<Errand> errands;  // guarded by mutex
  };
  static void run(const std::shared_ptr<Shared>& shared);
  void add(const std::weak_ptr<const void>& lease, const std::function<void(LeaseCore&)>& errand);
  [[nodiscard]] static MonotonicTime renew(const std::shared_ptr<LeaseCore>& core);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace orchid::sdk
