// flow_run/flow_data.h: data objects of flows, at the gateway.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "foundation/background_thread.h"
#include "orchid/client.h"
#include "protocol/data_id.h"

namespace orchid::flow {

/// Whether objects go along the plan's edges. Their calls run where they are, so they go through
/// the gateway, which knows that.
[[nodiscard]] bool moves_data(const Plan& plan);

/// The id of what "NAME", "NAME@3" or an id means now. Throws `orchid::Error`.
[[nodiscard]] std::string data_id_of(Client& client, std::string_view reference);

/// As the gateway takes them.
[[nodiscard]] std::vector<std::string> references_to(const std::vector<DataId>& data);

/// Asks the gateway, if the call may have failed for want of its data, which of that is gone; says
/// so in `failed`. Throws nothing.
void find_lost(Client& client, const std::vector<DataId>& data, CallFailed& failed);

/// Deletes objects without a name that nobody needs any more, on a thread of its own. What cannot
/// be deleted ends with its time to live.
class DataDrops {
 public:
  /// `client` outlives it.
  explicit DataDrops(Client& client) : client_(client) {}
  void drop(const DataId& data);

 private:
  Client& client_;
  BackgroundThread thread_;  // last: it uses the client
};

}  // namespace orchid::flow
