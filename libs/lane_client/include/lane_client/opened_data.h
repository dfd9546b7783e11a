// lane_client/opened_data.h: what an executor answers to who wants to write or read the bytes of a
// data object (docs/PROTOCOL.md §3, "Data").
#pragma once
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "protocol/lane_messages.h"

namespace orchid::lane_client {

/// The descriptor in the answer to `request`: a memory file of the size that is told, for good, to
/// which nothing is written while it is read. Anything else could keep who uses it waiting, or take
/// pages from under a mapping of it. Errors: `bad_request`, and what the executor refuses with.
[[nodiscard]] Result<UniqueFd> take_opened_data(Packet answer, const LaneOpenData& request);

}  // namespace orchid::lane_client
