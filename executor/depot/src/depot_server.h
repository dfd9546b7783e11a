// depot_server.h: a depot once it is confined: hears the agent, and serves workers.
#pragma once
#include <poll.h>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "protocol/depot_messages.h"
#include "worker_door.h"

namespace orchid::executor {

/// Owned by the only thread.
class DepotServer {
 public:
  /// `control`: the packet socket to the agent.
  explicit DepotServer(int control) : control_(control) {}
  /// Until the agent has hung up (0), or cannot be understood (1). The exit status.
  int run();

 private:
  struct Worker {
    UniqueFd socket;
    WorkerDoor door;
  };
  using Workers = std::map<std::uint64_t, Worker>;
  [[nodiscard]] bool hear_agent();
  [[nodiscard]] bool obey(Packet packet);
  void serve(const DepotServe& order, UniqueFd socket);
  void hand_over(const DepotAnswer& answer, const std::vector<UniqueFd>& descriptors);
  /// False: it is served no more.
  [[nodiscard]] bool hear_worker(Workers::iterator worker);
  void tell(const DepotMessage& message);

  int control_;
  Workers workers_;
  std::vector<pollfd> watched_;
  std::vector<std::uint64_t> watched_workers_;
  bool agent_is_there_ = true;
};

}  // namespace orchid::executor
