/* Takes away the wake-ups that are for the worker and for its client. */
#include "../act.h"

ACT(drains_wake_ups) {
  uint64_t count = 0;
  for (int i = 0; i < 100000; ++i) {
    raw_call(SYS_read, wake_worker, (long)&count, 8, 0, 0, 0);
    raw_call(SYS_read, wake_client, (long)&count, 8, 0, 0, 0);
  }
  return say(call, "done");
}
