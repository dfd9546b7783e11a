/* Expected: ok, output is the rounding mode it found (0: to nearest) as one digit; it leaves
 * another one, which must not reach the next call. */
#include "orchid/function.h"

static unsigned rounding(void) {
#if defined(__x86_64__)
  unsigned control = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(control));
  return (control >> 13) & 3;
#else
  unsigned long control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return (unsigned)(control >> 22) & 3;
#endif
}

static void round_towards_zero(void) {
#if defined(__x86_64__)
  unsigned control = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(control));
  control |= 3U << 13;
  __asm__ volatile("ldmxcsr %0" : : "m"(control));
#else
  unsigned long control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  control |= 3UL << 22;
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
#endif
}

ORCHID_ENTRY(changes_rounding) {
  (void)input, (void)input_size;
  char* output = orchid_output(call, 1);
  if (output == NULL) return ORCHID_ERROR;
  output[0] = (char)('0' + rounding());
  round_towards_zero();
  return ORCHID_OK;
}
