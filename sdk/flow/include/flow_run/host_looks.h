// flow_run/host_looks.h: what optimisers see of hosts and of data objects, asked for while the flow
// runs.
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
#include "protocol/data_id.h"

namespace orchid::flow {

/// So often hosts are looked at while a flow runs that is optimised.
inline constexpr std::chrono::seconds look_at_hosts_every{5};

/// As the gateway tells of them now; none, when it cannot be asked. Throws nothing.
[[nodiscard]] std::vector<HostSituation> look_at_hosts(Client& client);

/// How large objects are, and which hosts have them or are being sent them; one that the gateway
/// does not know has no host. Without those about which it cannot be asked. Throws nothing.
[[nodiscard]] std::vector<ObjectSituation> look_at_objects(Client& client,
                                                           const std::vector<DataId>& objects);

/// Used by one thread, which does not wait for the gateway.
class HostLooks {
 public:
  /// `client` outlives it.
  explicit HostLooks(Client& client) : client_(client) {}
  /// Asks, unless hosts are being asked for.
  void ask();
  /// What has been found since the last time.
  [[nodiscard]] std::optional<std::vector<HostSituation>> take();
  /// The same for objects. Waits for the gateway.
  [[nodiscard]] std::vector<ObjectSituation> look_now(const std::vector<DataId>& objects) {
    return look_at_objects(client_, objects);
  }
  /// Without waiting.
  void ask_of(std::vector<DataId> objects);
  [[nodiscard]] bool is_asked_of_objects();
  /// The answer, once, also if nothing was found; nothing: there is none yet.
  [[nodiscard]] std::optional<std::vector<ObjectSituation>> take_objects();

 private:
  Client& client_;
  std::mutex mutex_;  // guards the next ones
  std::optional<std::vector<HostSituation>> found_;
  std::optional<std::vector<ObjectSituation>> objects_;
  bool asks_of_hosts_ = false;
  bool asks_of_objects_ = false;
  BackgroundThread thread_;  // last: it uses the others
};

}  // namespace orchid::flow
