/* Expected: ok, output is the input: the milliseconds that each of its four steps takes. After each
 * it says how far it is. */
#include <stdlib.h>
#include <string.h>

#include "compute_for.h"
#include "orchid/function.h"

ORCHID_ENTRY(says_steps) {
  char number[24] = "";
  if (input_size >= sizeof number) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  for (int step = 1; step <= 4; ++step) {
    compute_for(strtol(number, NULL, 10));
    orchid_progress(call, step / 4.0);
  }
  void* output = orchid_output(call, input_size);
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, input, input_size);
  return ORCHID_OK;
}
