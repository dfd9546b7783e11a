#include "lease/open_lane.h"

#include <algorithm>

#include "foundation/tcp.h"
#include "protocol/limits.h"
#include "transport/ucx_lane.h"
#include "ucx_context.h"

namespace orchid::sdk {
namespace {

constexpr std::size_t lane_descriptor_count = 3;

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

Result<LaneSocket> connect_remote_socket(const GrantedWorker& worker,
                                         std::chrono::steady_clock::time_point deadline) {
  return LaneSocket::connect_remote({.address = worker.lane_address,
                                     .identity = to_string(worker.lease),
                                     .secret = worker.secret},
                                    deadline);
}

Result<OpenedLane> open_local_lane(const LaneClaimed& claimed, std::vector<UniqueFd> descriptors) {
  if (descriptors.size() != lane_descriptor_count)
    return fail(ErrorCode::bad_request, "the executor sent a lane without its descriptors");
  auto attached = transport::LocalLaneClient::attach(
      {.memory = std::move(descriptors[0]),
       .wake_worker = std::move(descriptors[1]),
       .wake_client = std::move(descriptors[2]),
       .geometry = {claimed.request_bytes, claimed.response_bytes}});
  if (!attached) return fail(std::move(attached.error()));
  auto client = std::make_unique<transport::LocalLaneClient>(std::move(*attached));
  const transport::LocalLaneClient* local = client.get();
  OpenedLane opened = with_limits(std::move(client), claimed);
  opened.local = local;
  return opened;
}

Result<OpenedLane> open_remote_lane(const GrantedWorker& worker, const LaneClaimed& claimed,
                                    transport::Fabric fabric,
                                    std::chrono::steady_clock::time_point deadline) {
  const auto colon = worker.lane_address.rfind(':');
  if (claimed.port == 0 || colon == std::string::npos)
    return fail(ErrorCode::bad_request, "the executor sent a lane without its address");
  const auto key = transport::parse_connection_key(claimed.key);
  if (!key) return fail(key.error());
  const std::string address =
      worker.lane_address.substr(0, colon + 1) + std::to_string(claimed.port);
  auto context = shared_ucx_context(fabric, local_host_towards(address));
  if (!context) return fail(std::move(context.error()));
  auto client = transport::UcxLaneClient::connect(
      **context, {.address = address, .key = *key, .deadline = deadline});
  if (!client)
    return fail(std::move(client.error()).while_doing("opening the lane to host " + worker.node));
  return with_limits(std::make_unique<transport::UcxLaneClient>(std::move(*client)), claimed);
}

}  // namespace orchid::sdk
