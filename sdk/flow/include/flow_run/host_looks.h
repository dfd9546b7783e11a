// flow_run/host_looks.h: what optimisers see of hosts, asked for while the flow runs.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "flow/optimiser.h"
#include "foundation/background_thread.h"
#include "orchid/client.h"

namespace orchid::flow {

/// So often hosts are looked at while a flow runs that is optimised.
inline constexpr std::chrono::seconds look_at_hosts_every{5};

/// As the gateway tells of them now; none, when it cannot be asked. Throws nothing.
[[nodiscard]] std::vector<HostSituation> look_at_hosts(Client& client);

/// Used by one thread, which does not wait for the gateway.
class HostLooks {
 public:
  /// `client` outlives it.
  explicit HostLooks(Client& client) : client_(client) {}
  /// Asks, unless it is being asked.
  void ask();
  /// What has been found since the last time.
  [[nodiscard]] std::optional<std::vector<HostSituation>> take();

 private:
  Client& client_;
  std::mutex mutex_;
  std::optional<std::vector<HostSituation>> found_;  // guarded by the mutex
  BackgroundThread thread_;                          // last: it uses the others
};

}  // namespace orchid::flow
