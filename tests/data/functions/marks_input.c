/* Expected: ok, no output; the input's first four bytes are "seen" afterwards, where it lies. */
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(marks_input) {
  (void)call;
  if (input_size < 4) return ORCHID_BAD_ARGUMENTS;
  memcpy((void*)input, "seen", 4);
  return ORCHID_OK;
}
