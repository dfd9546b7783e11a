// lease/lane_socket.h: the conversation with an executor about one worker (docs/PROTOCOL.md §3):
// packets over a Unix socket within a host, over TLS between hosts.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/result.h"
#include "foundation/sockets.h"
#include "transport/secure_channel.h"

namespace orchid::sdk {

/// Owned by who drives the lane. Never blocks, but for `connect_remote`.
class LaneSocket {
 public:
  /// Errors: `unreachable`.
  [[nodiscard]] static Result<LaneSocket> connect_local(const std::filesystem::path& path) {
    auto socket = connect_packets_at_once(path);
    if (!socket) return fail(std::move(socket.error()));
    return LaneSocket(std::move(*socket));
  }
  /// Errors: `unreachable`, `timed_out`, `bad_request`.
  [[nodiscard]] static Result<LaneSocket> connect_remote(
      const transport::SecureChannel::Peer& peer, std::chrono::steady_clock::time_point deadline) {
    auto channel = transport::SecureChannel::connect(peer, deadline);
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

 private:
  explicit LaneSocket(UniqueFd socket) : way_(std::move(socket)) {}
  explicit LaneSocket(transport::SecureChannel channel) : way_(std::move(channel)) {}
  std::variant<UniqueFd, transport::SecureChannel> way_;
};

}  // namespace orchid::sdk
