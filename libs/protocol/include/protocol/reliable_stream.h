// protocol/reliable_stream.h: one side of a control stream: it numbers what goes out, keeps it
// until it is acknowledged, and says after a broken connection what has to be sent again
// (docs/PROTOCOL.md §2). No I/O and no clock.
//
// Invariant: the messages kept are exactly acknowledged()+1 … last_sent(), in order.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "protocol/control_messages.h"

namespace orchid {

/// Owned by the thread of its connection. Outlives connections; lives as long as both processes do.
class ReliableStream {
 public:
  static constexpr std::size_t default_limit = 16 * 1024;
  explicit ReliableStream(std::string id = {}, std::size_t limit = default_limit)
      : id_(std::move(id)), limit_(limit) {}

  /// The stream's name, chosen by the gateway; empty before the first welcome.
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Forgets everything and begins anew under another name.
  void restart(std::string id);

  /// Numbers and keeps `message`; the frame is ready to be encoded. Errors: `no_capacity` when as
  /// many as the limit are unacknowledged: the peer has been away for too long, and the stream must
  /// be restarted.
  [[nodiscard]] Result<ControlFrame> add(ControlMessage message);

  enum class Arrival : std::uint8_t {
    fresh,      // to be handled
    duplicate,  // was handled already
    broken,     // a gap, or an acknowledgement of what was never sent: close the connection
  };
  /// For every numbered frame, and for ack and ping with sequence 0 (which are never `fresh`).
  [[nodiscard]] Arrival receive(std::uint64_t sequence, std::uint64_t ack);

  /// Whether a peer that has everything up to `peer_ack` can go on: nothing that it lacks was
  /// forgotten.
  [[nodiscard]] bool can_resume(std::uint64_t peer_ack) const {
    return acknowledged_ <= peer_ack && peer_ack <= last_sent();
  }
  /// What to send after a reconnect to a peer that has everything up to `peer_ack`, oldest first.
  /// Requires `can_resume(peer_ack)`.
  [[nodiscard]] std::vector<ControlFrame> resume(std::uint64_t peer_ack);

  /// The highest number received in order; goes into the `ack` of the frames that are sent.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t last_sent() const { return acknowledged_ + kept_.size(); }
  [[nodiscard]] std::size_t unacknowledged() const { return kept_.size(); }

 private:
  void forget_up_to(std::uint64_t ack);

  std::string id_;
  std::size_t limit_;
  std::deque<ControlMessage> kept_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace orchid
