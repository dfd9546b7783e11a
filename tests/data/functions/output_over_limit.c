/* Expected: limit_exceeded (output): asks for 1 GiB of output, and fails as told when it gets none.
 */
#include "orchid/function.h"

ORCHID_ENTRY(output_over_limit) {
  (void)input, (void)input_size;
  char* output = orchid_output(call, (size_t)1 << 30);
  if (output == NULL) return ORCHID_ERROR;
  output[0] = 1;
  return ORCHID_OK;
}
