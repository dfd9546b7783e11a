#include "lease/open_lane.h"

#include <algorithm>

#include "fabric/ucx_context.h"
#include "foundation/tcp.h"
#include "protocol/limits.h"
#include "transport/ucx_lane.h"

namespace orchid::sdk {
namespace {

OpenedLane with_limits(std::unique_ptr<transport::LaneClient> client, const LaneClaimed& claimed) {
  return {.client = std::move(client),
          .largest_input = std::min(claimed.request_bytes, limits::direct_size).value,
          .largest_output = std::min(claimed.response_bytes, limits::direct_size).value};
}

}  // namespace

Result<LaneKind> choose_lane(const GrantedWorker& worker, std::string_view wanted,
                             std::string_view own_boot_id) {
  if (wanted != "auto" && wanted != "local" && wanted != "ucx" && wanted != "tcp")
    return fail(ErrorCode::unsupported, "there is no lane '" + std::string(wanted) +
                                            "'; 'auto', 'local', 'ucx' and 'tcp' are known");
  const bool here = worker.boot_id.empty() || worker.boot_id == own_boot_id;
  const bool has_local = here && !worker.lane_socket.empty();
  if (wanted != "ucx" && wanted != "tcp" && has_local) return LaneKind::local;
  if (wanted == "local")
    return fail(ErrorCode::unsupported,
                "the worker is on host " + worker.node +
                    ", and the lane 'local' ends at this host: take the lease with lane 'auto', or "
                    "with a constraint on this host");
  if (worker.lane_address.empty())
    return fail(ErrorCode::unsupported,
                "the executor of host " + worker.node +
                    " takes no clients of other hosts: start it with --lane-listen, or take the "
                    "lease from a program on that host");
  return LaneKind::ucx;
}

Result<OpenedLane> open_local_lane(const LaneClaimed& claimed, std::vector<UniqueFd> descriptors) {
  auto attached = lane_client::attach(claimed, std::move(descriptors));
  if (!attached) return fail(std::move(attached.error()));
  auto client = std::make_unique<transport::LocalLaneClient>(std::move(*attached));
  const transport::LocalLaneClient* local = client.get();
  OpenedLane opened = with_limits(std::move(client), claimed);
  opened.local = local;
  return opened;
}

Result<OpenedLane> open_remote_lane(const GrantedWorker& worker, const LaneClaimed& claimed,
                                    transport::Fabric fabric, lane_client::Deadline deadline) {
  const auto there = lane_client::lane_address_of(claimed, worker.lane_address, deadline);
  if (!there) return fail(there.error());
  auto context = shared_ucx_context(fabric, local_host_towards(there->address));
  if (!context) return fail(std::move(context.error()));
  auto client = transport::UcxLaneClient::connect(**context, *there);
  if (!client)
    return fail(std::move(client.error()).while_doing("opening the lane to host " + worker.node));
  return with_limits(std::make_unique<transport::UcxLaneClient>(std::move(*client)), claimed);
}

}  // namespace orchid::sdk
