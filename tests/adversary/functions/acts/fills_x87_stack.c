/* Leaves eight values on the x87 stack: the next long double of whoever runs there is not a number.
 */
#include "../act.h"

ACT(fills_x87_stack) {
#if defined(__x86_64__)
  __asm__ volatile("fldz; fldz; fldz; fldz; fldz; fldz; fldz; fldz");
#endif
  return say(call, "done");
}
