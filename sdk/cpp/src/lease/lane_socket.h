// lease/lane_socket.h: the conversation with an executor about one worker (docs/PROTOCOL.md §3):
// packets over a Unix socket within a host, over TLS between hosts.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/result.h"
#include "foundation/sockets.h"
#include "lane_client/open_lane.h"
#include "lease/lease_grant.h"
#include "transport/secure_channel.h"

namespace orchid::sdk {

/// Owned by who drives the lane. Never blocks, but for `claim_remote`.
class LaneSocket {
 public:
  /// With the claim sent, in that version of the lane protocol. Errors: `unreachable`.
  [[nodiscard]] static Result<LaneSocket> claim_local(const GrantedWorker& worker,
                                                      std::uint32_t protocol) {
    return claim_local(worker, claim_of(worker, protocol));
  }
  [[nodiscard]] static Result<LaneSocket> claim_local(const GrantedWorker& worker,
                                                      const LaneClaim& claim) {
    auto socket = lane_client::claim_here(worker.lane_socket, claim);
    if (!socket) return fail(std::move(socket.error()));
    return LaneSocket(std::move(*socket));
  }
  /// Blocks until then. Errors: `unreachable`, `timed_out`, `bad_request`.
  [[nodiscard]] static Result<LaneSocket> claim_remote(const GrantedWorker& worker,
                                                       std::uint32_t protocol,
                                                       lane_client::Deadline deadline) {
    return claim_remote(worker, claim_of(worker, protocol), deadline);
  }
  [[nodiscard]] static Result<LaneSocket> claim_remote(const GrantedWorker& worker,
                                                       const LaneClaim& claim,
                                                       lane_client::Deadline deadline) {
    auto channel = lane_client::claim_there(worker.lane_address, claim, deadline);
    if (!channel) return fail(std::move(channel.error()));
    return LaneSocket(std::move(*channel));
  }

  [[nodiscard]] Result<void> send(std::string_view text, const std::vector<int>& files) {
    if (auto* channel = std::get_if<transport::SecureChannel>(&way_))
      return channel->send(text, files);
    return send_packet(descriptor(), text, files);
  }
  /// The next packet, or nothing; also goes on with what waits to be sent.
  [[nodiscard]] Result<std::optional<Packet>> receive() {
    if (auto* channel = std::get_if<transport::SecureChannel>(&way_)) return channel->receive();
    return receive_packet(descriptor(), /*wait=*/false);
  }
  /// It has failed because its executor has closed it or died, as far as this end can tell.
  [[nodiscard]] bool has_hung_up() const {
    const auto* channel = std::get_if<transport::SecureChannel>(&way_);
    return channel == nullptr || channel->has_hung_up();
  }
  [[nodiscard]] int descriptor() const {
    if (const auto* channel = std::get_if<transport::SecureChannel>(&way_))
      return channel->descriptor();
    return std::get<UniqueFd>(way_).get();
  }
  /// It is to be driven also when it becomes writable.
  [[nodiscard]] bool is_remote() const {
    return std::holds_alternative<transport::SecureChannel>(way_);
  }
  [[nodiscard]] bool wants_to_write() const {
    const auto* channel = std::get_if<transport::SecureChannel>(&way_);
    return channel != nullptr && channel->wants_to_write();
  }

  static LaneClaim claim_of(const GrantedWorker& worker, std::uint32_t protocol) {
    return {.lease = worker.lease,
            .secret = worker.secret,
            .protocol = protocol,
            .address = {},
            .knows_compiling = true};
  }

 private:
  explicit LaneSocket(UniqueFd socket) : way_(std::move(socket)) {}
  explicit LaneSocket(transport::SecureChannel channel) : way_(std::move(channel)) {}
  std::variant<UniqueFd, transport::SecureChannel> way_;
};

}  // namespace orchid::sdk
