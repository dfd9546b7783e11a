/* Expected: ok, output is how many calls this worker has run, in decimal: globals live as long as
 * the worker. */
#include <stdio.h>
#include <string.h>

#include "orchid/function.h"

static unsigned long calls;

ORCHID_ENTRY(counts_calls) {
  (void)input, (void)input_size;
  char text[24];
  const int size = snprintf(text, sizeof text, "%lu", ++calls);
  void* output = orchid_output(call, (size_t)size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, (size_t)size);
  return ORCHID_OK;
}
