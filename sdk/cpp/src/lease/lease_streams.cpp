// How a stream gets a lane, and how calls for it end before that.
#include "lease/lane_stream.h"
#include "lease/lease_core.h"

namespace orchid::sdk {
void LeaseCore::begin(LaneStream& stream) {
  DirectCall& call = stream.call;
  call.fix_due(std::chrono::steady_clock::now());
  if (WorkerLane* lane = waiting() == 0 ? take_idle_lane(call) : nullptr) {
    lane->begin(stream);
    // Who cancelled before the stream was in the lane did not know whom to tell.
    if (call.cancel_wanted.load()) lane->handle_events();
    return lane->leave();
  }
  enqueue(call);
  while (true) {
    {
      std::unique_lock lock(stream.opening);
      const auto over = [&] { return call.lane.load() != nullptr || call.done(); };
      if (stream.opened.wait_until(
              lock, std::min(call.due, MonotonicTime::clock::now() + offer_interval), over))
        break;
    }
    if (MonotonicTime::clock::now() >= call.due) overdue(call);
    offer();
  }
  if (WorkerLane* lane = call.lane.load(); lane != nullptr && call.cancel_wanted.load())
    lane->poke();
}

}  // namespace orchid::sdk
