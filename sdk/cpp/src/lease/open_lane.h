// lease/open_lane.h: the one place that knows which kinds of lanes there are.
#pragma once
#include <memory>

#include "foundation/result.h"
#include "foundation/sockets.h"
#include "lease/lease_grant.h"
#include "protocol/lane_messages.h"
#include "transport/lane.h"

namespace orchid::sdk {

/// The socket over which a granted worker is claimed and its lane is looked after. Errors:
/// `unreachable`, `unsupported` (no lane of that name leads there).
[[nodiscard]] Result<UniqueFd> connect_lane_socket(const GrantedWorker& worker,
                                                   std::string_view lane);

/// The client's end of the lane that an executor has announced.
struct OpenedLane {
  std::unique_ptr<transport::LaneClient> client;
  std::size_t largest_input = 0;
  std::size_t largest_output = 0;
};
/// Errors: `bad_request`: the executor's message is nonsense.
[[nodiscard]] Result<OpenedLane> open_lane(const LaneClaimed& claimed,
                                           std::vector<UniqueFd> descriptors);

}  // namespace orchid::sdk
