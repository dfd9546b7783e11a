#include "lease/open_lane.h"

#include <algorithm>

#include "protocol/limits.h"
#include "transport/local_lane.h"

namespace orchid::sdk {
namespace {
constexpr std::size_t lane_descriptor_count = 3;
}

Result<UniqueFd> connect_lane_socket(const GrantedWorker& worker, std::string_view lane) {
  if (lane != "auto" && lane != "local")
    return fail(ErrorCode::unsupported, "there is no lane '" + std::string(lane) +
                                            "' in this version; 'auto' and 'local' are known");
  if (worker.lane_socket.empty() || (!worker.boot_id.empty() && worker.boot_id != own_boot_id()))
    return fail(ErrorCode::unsupported,
                "the worker is on host " + worker.node +
                    ", and this version reaches only workers of its own host directly");
  return connect_packets_at_once(worker.lane_socket);
}

Result<OpenedLane> open_lane(const LaneClaimed& claimed, std::vector<UniqueFd> descriptors) {
  if (descriptors.size() != lane_descriptor_count)
    return fail(ErrorCode::bad_request, "the executor sent a lane without its descriptors");
  auto client = transport::LocalLaneClient::attach(
      {.memory = std::move(descriptors[0]),
       .wake_worker = std::move(descriptors[1]),
       .wake_client = std::move(descriptors[2]),
       .geometry = {claimed.request_bytes, claimed.response_bytes}});
  if (!client) return fail(std::move(client.error()));
  return OpenedLane{.client = std::make_unique<transport::LocalLaneClient>(std::move(*client)),
                    .largest_input = std::min(claimed.request_bytes, limits::direct_size).value,
                    .largest_output = std::min(claimed.response_bytes, limits::direct_size).value};
}

}  // namespace orchid::sdk
