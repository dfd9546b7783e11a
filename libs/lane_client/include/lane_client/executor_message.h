// lane_client/executor_message.h: what an executor says to its client over a lane socket.
#pragma once
#include <string_view>
#include <variant>

#include "foundation/result.h"
#include "protocol/lane_messages.h"

namespace orchid::lane_client {

/// For std::visit: each driver has a `hear` of each.
using ExecutorMessage =
    std::variant<LaneClaimed, LaneRefused, LaneNeedCode, LaneCompiling, LaneSlot, LaneRejected,
                 LaneProgress, LaneEnded, LaneAttached, LaneNotAttached, LaneFetch>;
/// Errors: `bad_request`, also for what only clients say.
[[nodiscard]] Result<ExecutorMessage> parse_executor_message(std::string_view text);

}  // namespace orchid::lane_client
