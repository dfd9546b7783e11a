// depot_server.h: a depot once it is confined: hears the agent, and serves workers.
#pragma once
#include <poll.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/clock.h"
#include "foundation/sockets.h"
#include "foundation/token_bucket.h"
#include "foundation/unique_fd.h"
#include "protocol/depot_messages.h"
#include "worker_door.h"

namespace orchid::executor {

/// Owned by the only thread.
class DepotServer {
 public:
  /// `control`: the packet socket to the agent.
  explicit DepotServer(int control) : control_(control) {}
  /// What all workers together may ask the agent, which has one thread for all tenants.
  static constexpr TokenBucket::Rate requests{.per_second = 4000, .burst = 1024};
  /// Until the agent has hung up (0), or cannot be understood (1). The exit status.
  int run();

 private:
  struct Worker {
    UniqueFd socket;
    WorkerDoor door;
  };
  using Workers = std::map<std::uint64_t, Worker>;
  [[nodiscard]] MonotonicTime choose_watched(MonotonicTime now);
  [[nodiscard]] bool wait();
  void hear_workers();
  [[nodiscard]] bool hear_agent();
  [[nodiscard]] bool obey(Packet packet);
  void serve(const DepotServe& order, UniqueFd socket);
  void hand_over(const DepotAnswer& answer, const std::vector<UniqueFd>& descriptors);
  /// False: it is served no more.
  [[nodiscard]] bool hear_worker(Workers::iterator worker);
  void lose(Workers::iterator worker);
  void tell(const DepotMessage& message);
  void tell_rest();

  int control_;
  TokenBucket tokens_{requests};
  /// What the agent has no room for yet: until it has, no worker is heard.
  std::deque<std::string> untold_;
  Workers workers_;
  std::size_t first_ = 0;  // of the workers: whose turn it is
  std::vector<pollfd> watched_;
  std::vector<std::uint64_t> watched_workers_;
  bool agent_is_there_ = true;
};

}  // namespace orchid::executor
