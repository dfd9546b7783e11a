/* Takes the worker's lane out of its memory. */
#include "../act.h"

ACT(unmaps_lane) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  raw_call(SYS_munmap, (long)lane_of(call, input), 1 << 20, 0, 0, 0, 0);
  return ORCHID_OK;
}
