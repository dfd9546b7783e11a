/* Reads the processor's own counters: the fine clock is there for all, the kernel's counters are
 * not. */
#include "../act.h"

ACT(reads_clocks) {
#if defined(__x86_64__)
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(0));
#else
  *(volatile int*)8 = 1;
#endif
  return say(call, "counted");
}
