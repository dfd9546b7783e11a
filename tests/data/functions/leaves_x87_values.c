/* Expected: ok, output is "3" on x86; it leaves eight values on the stack of the old floating-point
 * unit, which would make the next `long double` a NaN. Elsewhere it computes only. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(leaves_x87_values) {
  (void)input, (void)input_size;
  volatile long double one = 1;
  volatile long double two = 2;
  char text[32];
  snprintf(text, sizeof text, "%Lg", one + two);
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
#if defined(__x86_64__)
  for (int i = 0; i < 8; ++i) __asm__ volatile("fld1");
#endif
  return ORCHID_OK;
}
