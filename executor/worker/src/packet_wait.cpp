#include "packet_wait.h"

#include <poll.h>

#include <algorithm>

namespace orchid::executor {
namespace {

/// How often it is looked whether the call is to stop.
constexpr std::chrono::milliseconds look_interval{10};

}  // namespace

Failure call_is_to_stop() {
  return {ErrorCode::cancelled, "the call is to stop: nothing more is waited for"};
}

Result<std::optional<Packet>> await_packet(int socket, std::chrono::steady_clock::time_point due,
                                           const std::function<bool()>& stopped) {
  using Clock = std::chrono::steady_clock;
  while (!stopped()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    if (left.count() <= 0) break;
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    // A signal only wakes it.
    ::poll(&wait, 1, static_cast<int>(std::min(left, look_interval).count()));
    auto packet = receive_packet(socket, false);
    if (!packet || *packet) return packet;
  }
  return std::optional<Packet>();
}

}  // namespace orchid::executor
