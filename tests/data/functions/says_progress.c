/* Expected: says that it is half done until it is cancelled or late, then ends by itself, output
 * "stopped". */
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(says_progress) {
  (void)input, (void)input_size;
  while (!orchid_should_stop(call)) orchid_progress(call, 0.5);
  void* output = orchid_output(call, strlen("stopped"));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, "stopped", strlen("stopped"));
  return ORCHID_OK;
}
