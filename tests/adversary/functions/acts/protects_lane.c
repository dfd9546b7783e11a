/* Takes the right to write to its lane from the worker. */
#include "../act.h"

ACT(protects_lane) {
  if (!found_worker(call, input)) return ORCHID_BAD_ARGUMENTS;
  raw_call(SYS_mprotect, (long)lane_of(call, input), 1 << 20, 1, 0, 0, 0);
  return ORCHID_OK;
}
