/* Returns with the direction flag set, so that string instructions of others go backwards. */
#include "../act.h"

ACT(sets_direction_flag) {
  const int32_t status = say(call, "done");
#if defined(__x86_64__)
  __asm__ volatile("std" : : : "cc");
#endif
  return status;
}
