/* Puts memory of its own where the worker's lane is: no answer reaches anybody. */
#include "../act.h"

ACT(maps_over_lane) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  raw_call(SYS_mmap, (long)lane_of(call, input), 1 << 20, 3, 0x32, -1, 0);
  return ORCHID_OK;
}
