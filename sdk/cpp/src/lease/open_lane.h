// lease/open_lane.h: the one place that knows which kinds of lanes there are.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "lane_client/open_lane.h"
#include "lane_client/policy.h"
#include "lease/lease_grant.h"
#include "protocol/lane_messages.h"
#include "transport/lane.h"
#include "transport/local_lane.h"
#include "transport/ucx_lane.h"

namespace orchid::sdk {

enum class LaneKind : std::uint8_t { local, ucx };

/// The lane that leads to the worker: `wanted` is LeaseOptions::lane. Errors: `unsupported`, saying
/// what would help.
[[nodiscard]] Result<LaneKind> choose_lane(const GrantedWorker& worker, std::string_view wanted,
                                           std::string_view own_boot_id);

/// When a connection that is begun now is given up.
[[nodiscard]] inline lane_client::Deadline lane_deadline() {
  return std::chrono::steady_clock::now() + lane_client::connect_within;
}

/// The client's end of the lane that an executor has announced.
struct OpenedLane {
  std::unique_ptr<transport::LaneClient> client;
  const transport::LocalLaneClient* local = nullptr;  // the same, within a host
  std::size_t largest_input = 0;
  std::size_t largest_output = 0;
};
/// Errors: `bad_request`: the executor's message is nonsense.
[[nodiscard]] Result<OpenedLane> open_local_lane(const LaneClaimed& claimed,
                                                 std::vector<UniqueFd> descriptors);
/// Blocks until then. The first one loads UCX into this process; one over a `fabric` that is
/// trusted opens an RDMA device, if there is one. Errors: `unsupported` (no UCX here, or another
/// version there), `unreachable`, `timed_out`, `bad_request`, `too_large`.
[[nodiscard]] Result<OpenedLane> open_remote_lane(const GrantedWorker& worker,
                                                  const LaneClaimed& claimed,
                                                  transport::Fabric fabric,
                                                  lane_client::Deadline deadline);

}  // namespace orchid::sdk
