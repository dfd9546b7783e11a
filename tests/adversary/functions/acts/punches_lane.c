/* Gives the memory of the lane back, under its client. */
#include "../act.h"

ACT(punches_lane) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  raw_call(SYS_madvise, (long)lane_of(call, input), 1 << 20, 9 /* MADV_REMOVE */, 0, 0, 0);
  return ORCHID_OK;
}
