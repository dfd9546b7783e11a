/* Expected: ends by itself soon after the deadline or a cancel, output "stopped"; the worker lives
 * on when it does so in time. */
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(loops_politely) {
  (void)input, (void)input_size;
  while (!orchid_should_stop(call)) {
  }
  void* output = orchid_output(call, strlen("stopped"));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, "stopped", strlen("stopped"));
  return ORCHID_OK;
}
