// channels/lane_channel.h: what carries the conversation about a lane: a Unix socket within a host,
// TLS between hosts.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/sockets.h"

namespace orchid::executor {

/// Owned by the agent's thread. May be destroyed in its own handlers.
class LaneChannel {
 public:
  struct Handlers {
    std::function<void(Packet&)> on_packet;
    std::function<void()> on_closed;  // once; nothing follows
  };
  virtual ~LaneChannel() = default;
  LaneChannel(const LaneChannel&) = delete;
  LaneChannel& operator=(const LaneChannel&) = delete;

  /// Errors: `unreachable` when the peer has gone or does not read.
  [[nodiscard]] virtual Result<void> send(std::string_view text,
                                          const std::vector<int>& descriptors) = 0;

 protected:
  /// What one channel may take before others have their turn.
  static constexpr int packets_per_turn = 8;

  LaneChannel() = default;
};

}  // namespace orchid::executor
