// lane_client/last_answers.h: what a worker that has ended has left in its lane to another host.
// The executor's word on the end comes over another connection, and may be faster.
#pragma once
#include <poll.h>

#include <chrono>

#include "lane_client/policy.h"
#include "transport/lane.h"

namespace orchid::lane_client {

/// Until `take`, which takes what there is, says that no more is to come: the answer was there, or
/// the lane is at its end; or for so long as `within`. The thread does nothing else meanwhile.
template <typename Take>
void take_last_answers(transport::LaneClient& lane, std::chrono::milliseconds within, Take take) {
  constexpr int look_ms = 20;
  const auto give_up = std::chrono::steady_clock::now() + within;
  while (take() && std::chrono::steady_clock::now() < give_up) {
    if (!lane.prepare_to_sleep()) continue;
    pollfd wait{.fd = lane.wake_descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, look_ms);
    lane.finish_sleep();
  }
}

}  // namespace orchid::lane_client
