/* Leaves floating-point exceptions unmasked: a division by zero elsewhere would be a signal. */
#include "../act.h"

ACT(unmasks_exceptions) {
#if defined(__x86_64__)
  const unsigned short legacy = 0x0340;
  const unsigned vector = 0;
  __asm__ volatile("fldcw %0" : : "m"(legacy));
  __asm__ volatile("ldmxcsr %0" : : "m"(vector));
#endif
  return say(call, "done");
}
