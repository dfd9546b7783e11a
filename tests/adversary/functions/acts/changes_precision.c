/* Leaves x87 at single precision, rounding towards zero, and small numbers flushed to zero. */
#include "../act.h"

ACT(changes_precision) {
#if defined(__x86_64__)
  const unsigned short legacy = 0x0c7f;
  const unsigned vector = 0xffc0;
  __asm__ volatile("fldcw %0" : : "m"(legacy));
  __asm__ volatile("ldmxcsr %0" : : "m"(vector));
#elif defined(__aarch64__)
  const uint64_t control = 0x01c00000;
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
#endif
  return say(call, "done");
}
