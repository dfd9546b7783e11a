// gateway_link.h: the socket with which the gateway has started this process: requests come over it
// and answers go, and so do connections over which this process is its tenant.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>

#include "arrivals.h"
#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "protocol/flow_messages.h"

namespace orchid::flows {

/// Any thread.
class GatewayLink {
 public:
  /// `arrivals` outlives it.
  GatewayLink(UniqueFd socket, Arrivals& arrivals)
      : socket_(std::move(socket)), arrivals_(arrivals) {}
  ~GatewayLink();
  GatewayLink(const GatewayLink&) = delete;
  GatewayLink& operator=(const GatewayLink&) = delete;

  /// Requests arrive from now on, and at last that the gateway has gone.
  void start();
  /// A descriptor, which is the caller's; -1: none came within `patience`.
  [[nodiscard]] int dial(std::chrono::milliseconds patience);
  void answer(FlowAnswer answer, std::string_view content = {});

 private:
  void receive();
  /// False: the gateway has gone.
  [[nodiscard]] bool take(Packet packet);
  /// False: it was not sent. Waits for a gateway that does not read.
  [[nodiscard]] bool send(const FlowMessage& message, const std::vector<int>& descriptors);

  UniqueFd socket_;
  Arrivals& arrivals_;
  std::mutex mutex_;
  std::condition_variable connected_;
  std::deque<UniqueFd> connections_;  // guarded by mutex_; that were asked for and not taken
  std::size_t given_up_ = 0;          // guarded by mutex_; dials whose connection nobody waits for
  std::thread receiver_;
};

}  // namespace orchid::flows
