/* Writes over the lane: its marks of who sleeps, both rings, and what was released. */
#include "../act.h"

ACT(scribbles_over_lane) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  volatile unsigned char* lane = lane_of(call, input);
  for (size_t i = 0; i < lane_response_ring + (1 << 16); ++i) lane[i] = (unsigned char)(i * 37 + 1);
  return ORCHID_OK;
}
