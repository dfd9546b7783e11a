/* Wakes its client a million times for nothing. */
#include "../act.h"

ACT(floods_wake_ups) {
  const uint64_t one = 1;
  for (int i = 0; i < 1000000; ++i) raw_call(SYS_write, wake_client, (long)&one, 8, 0, 0, 0);
  return say(call, "done");
}
