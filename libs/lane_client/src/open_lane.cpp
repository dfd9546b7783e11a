#include "lane_client/open_lane.h"

#include <utility>

namespace orchid::lane_client {
namespace {

constexpr std::size_t lane_descriptor_count = 3;

}  // namespace

Result<UniqueFd> claim_here(const std::filesystem::path& lane_socket, const LaneClaim& claim) {
  auto socket = connect_packets_at_once(lane_socket);
  if (!socket) return fail(std::move(socket.error()));
  if (auto sent = send_packet(socket->get(), encode(claim)); !sent)
    return fail(std::move(sent.error()));
  return socket;
}

Result<transport::SecureChannel> claim_there(const std::string& lane_address,
                                             const LaneClaim& claim, Deadline deadline) {
  auto channel = transport::SecureChannel::connect(
      {.address = lane_address, .identity = to_string(claim.lease), .secret = claim.secret},
      deadline);
  if (!channel) return fail(std::move(channel.error()));
  if (auto sent = channel->send(encode(claim)); !sent) return fail(std::move(sent.error()));
  return channel;
}

Result<transport::LocalLaneClient> attach(const LaneClaimed& claimed,
                                          std::vector<UniqueFd> descriptors) {
  if (descriptors.size() != lane_descriptor_count)
    return fail(ErrorCode::bad_request, "the executor sent a lane without its descriptors");
  return transport::LocalLaneClient::attach(
      {.memory = std::move(descriptors[0]),
       .wake_worker = std::move(descriptors[1]),
       .wake_client = std::move(descriptors[2]),
       .geometry = {claimed.request_bytes, claimed.response_bytes}});
}

Result<transport::UcxLaneClient::Options> lane_address_of(const LaneClaimed& claimed,
                                                          const std::string& lane_address,
                                                          Deadline deadline) {
  const auto colon = lane_address.rfind(':');
  if (claimed.port == 0 || colon == std::string::npos)
    return fail(ErrorCode::bad_request, "the executor sent a lane without its address");
  const auto key = transport::parse_connection_key(claimed.key);
  if (!key) return fail(key.error());
  return transport::UcxLaneClient::Options{
      .address = lane_address.substr(0, colon + 1) + std::to_string(claimed.port),
      .key = *key,
      .deadline = deadline};
}

}  // namespace orchid::lane_client
