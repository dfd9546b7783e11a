/* Writes into the lane that its client is awake, so that nobody wakes it. */
#include "../act.h"

ACT(claims_to_sleep) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  volatile uint64_t* lane = (volatile uint64_t*)lane_of(call, input);
  const int32_t status = say(call, "done");
  for (int i = 0; i < 100000; ++i) {
    lane[0] = ~0ULL;
    lane[8] = ~0ULL;
  }
  lane[0] = 0;
  return status;
}
