/* Expected: function_crashed, SIGSEGV: asks for 1 GiB of output, and writes there without looking
 * whether it got any. */
#include "orchid/function.h"

ORCHID_ENTRY(output_unchecked) {
  (void)input, (void)input_size;
  volatile char* output = orchid_output(call, (size_t)1 << 30);
  output[0] = 1;
  return ORCHID_OK;
}
