/* Expected: function_crashed, SIGSEGV. */
#include "orchid/function.h"

ORCHID_ENTRY(segfaults) {
  (void)call, (void)input;
  volatile int* address = (volatile int*)(input_size * 0 + 16);
  *address = 1;
  return ORCHID_OK;
}
