// lane_client/call_with_data.h: how a call goes into a lane whose worker has mapped the objects
// that it is given (docs/PROTOCOL.md §4, "Data"), and how the worker is rid of them.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/result.h"
#include "protocol/data_id.h"
#include "protocol/lane_messages.h"
#include "transport/lane.h"

namespace orchid::lane_client {

/// As `client.send(call)`, with the table of `data` in front of the call's input: 1 to
/// `limits::data_per_call` ids. A large input is copied once, as without data.
[[nodiscard]] Result<std::uint64_t> send_with_data(transport::LaneClient& client,
                                                   transport::LaneCall call,
                                                   std::span<const DataId> data);

/// What the executor is told of these, as many at a time as one message takes.
[[nodiscard]] std::vector<LaneDetach> detach_messages(std::span<const DataId> data);

}  // namespace orchid::lane_client
