/* Expected: ok after as many milliseconds of computing as the input says in decimal; the output is
 * empty. */
#include <stdlib.h>
#include <string.h>

#include "compute_for.h"
#include "orchid/function.h"

ORCHID_ENTRY(spins) {
  (void)call;
  char number[24] = "";
  if (input_size >= sizeof number) return ORCHID_BAD_ARGUMENTS;
  memcpy(number, input, input_size);
  compute_for(strtol(number, NULL, 10));
  return ORCHID_OK;
}
