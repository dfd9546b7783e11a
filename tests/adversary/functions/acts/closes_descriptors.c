/* Closes every descriptor of the worker. */
#include "../act.h"

ACT(closes_descriptors) {
  for (long descriptor = 0; descriptor < 1024; ++descriptor)
    raw_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
  raw_call(SYS_close_range, 0, 0xffffffff, 0, 0, 0, 0);
  return say(call, "done");
}
