/* Makes a system call by its number in the x32 kind of programs. */
#include "../act.h"

ACT(calls_x32_kernel) {
#if defined(__x86_64__)
  raw_call(0x40000000 | SYS_getpid, 0, 0, 0, 0, 0, 0);
  return say(call, "came back");
#else
  *(volatile int*)8 = 1;
  return ORCHID_OK;
#endif
}
