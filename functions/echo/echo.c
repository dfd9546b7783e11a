/* functions/echo: gives its input back. The least a function can do; the latency benchmarks call
 * it. */
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(echo) {
  void* output = orchid_output(call, input_size);
  if (output == NULL) return ORCHID_ERROR;
  if (input_size > 0) memcpy(output, input, input_size);
  return ORCHID_OK;
}
