/* Expected: function_exited, status 7. */
#include <stdlib.h>

#include "orchid/function.h"

ORCHID_ENTRY(exits) {
  (void)call, (void)input, (void)input_size;
  exit(7);
}
