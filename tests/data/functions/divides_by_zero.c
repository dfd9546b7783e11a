/* Expected: function_crashed, SIGFPE; ok on aarch64, where the quotient is zero. */
#include "orchid/function.h"

ORCHID_ENTRY(divides_by_zero) {
  (void)call, (void)input, (void)input_size;
  volatile int zero = 0;
  volatile int quotient = 1;
  quotient = quotient / zero;
  return ORCHID_OK;
}
