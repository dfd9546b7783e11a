// worker/packet_wait.h: a worker waits for an answer during a call.
#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "foundation/result.h"
#include "foundation/sockets.h"

namespace orchid::executor {

/// The next packet. Nothing: the time is over, or `stopped` has become true. Errors: `unreachable`
/// (the peer has gone), `bad_request`.
[[nodiscard]] Result<std::optional<Packet>> await_packet(int socket,
                                                         std::chrono::steady_clock::time_point due,
                                                         const std::function<bool()>& stopped);

/// What a call is told that is to stop.
[[nodiscard]] Failure call_is_to_stop();

}  // namespace orchid::executor
