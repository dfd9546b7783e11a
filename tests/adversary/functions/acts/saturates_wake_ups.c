/* Fills the counters by which worker and client wake each other: neither could sleep any more. */
#include "../act.h"

ACT(saturates_wake_ups) {
  const uint64_t most = 0xfffffffffffffffe;
  raw_call(SYS_write, wake_worker, (long)&most, 8, 0, 0, 0);
  raw_call(SYS_write, wake_client, (long)&most, 8, 0, 0, 0);
  return say(call, "done");
}
