// memory/memory_core.h: what the handles of one leased memory share: its connection, and who keeps
// its lease.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "api/session.h"
#include "lane_client/memory_client.h"
#include "memory/memory_lease.h"
#include "orchid/memory.h"

namespace orchid::sdk {

[[nodiscard]] Error memory_error(const Failure& why, const std::string& host);

/// Any thread. A thread of its own renews the lease, if it is ours to keep.
class MemoryCore {
 public:
  enum class Keeps : bool { nothing, the_lease };
  /// Connects to a lease that was granted. Throws `orchid::Error`.
  static std::shared_ptr<MemoryCore> connect(std::shared_ptr<Session> session, MemoryGrant grant,
                                             const MemoryOptions& options, Keeps keeps);
  MemoryCore(const MemoryCore&) = delete;
  MemoryCore& operator=(const MemoryCore&) = delete;
  ~MemoryCore();

  [[nodiscard]] lane_client::MemoryClient& client() { return *client_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Throws what the gateway says.
  void release();

 private:
  MemoryCore(std::shared_ptr<Session> session, std::string id, const MemoryOptions& options,
             std::unique_ptr<lane_client::MemoryClient> client, Keeps keeps);
  void keep();
  void renew_once(std::chrono::steady_clock::time_point& good_until);
  void stop_keeping();

  std::shared_ptr<Session> session_;  // shared with the Client
  const std::string id_;
  const std::chrono::milliseconds duration_;
  std::unique_ptr<lane_client::MemoryClient> client_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool kept_;  // the lease is ours, and there
  std::thread keeper_;
};

}  // namespace orchid::sdk
