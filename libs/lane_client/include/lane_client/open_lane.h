// lane_client/open_lane.h: how a worker is claimed, and how the lane is opened that its executor
// then announces. The I/O of it, once for all drivers.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/sockets.h"
#include "protocol/lane_messages.h"
#include "transport/local_lane.h"
#include "transport/secure_channel.h"
#include "transport/ucx_lane.h"

namespace orchid::lane_client {

using Deadline = std::chrono::steady_clock::time_point;

/// The connection with the claim sent. Errors: `unreachable`, `system`.
[[nodiscard]] Result<UniqueFd> claim_here(const std::filesystem::path& lane_socket,
                                          const LaneClaim& claim);
/// The same between hosts; blocks until then. Errors: `unreachable`, `timed_out`, `bad_request`.
[[nodiscard]] Result<transport::SecureChannel> claim_there(const std::string& lane_address,
                                                           const LaneClaim& claim,
                                                           Deadline deadline);

/// Of a worker of this host. Errors: `bad_request`, `system`.
[[nodiscard]] Result<transport::LocalLaneClient> attach(const LaneClaimed& claimed,
                                                        std::vector<UniqueFd> descriptors);
/// Where the worker of another host waits, whose executor is at `lane_address`. Errors:
/// `bad_request`.
[[nodiscard]] Result<transport::UcxLaneClient::Options> lane_address_of(
    const LaneClaimed& claimed, const std::string& lane_address, Deadline deadline);
[[nodiscard]] inline transport::Fabric fabric_of(const LaneClaimed& claimed) {
  return claimed.trusted_fabric ? transport::Fabric::trusted : transport::Fabric::tcp;
}

}  // namespace orchid::lane_client
