/* Expected: ok, the log is "unflushed " and the input, complete and of this call only, though
 * nothing ends the line. */
#include <stdio.h>

#include "orchid/function.h"

ORCHID_ENTRY(logs_unflushed) {
  (void)call;
  printf("unflushed %.*s", (int)input_size, (const char*)input);
  return ORCHID_OK;
}
