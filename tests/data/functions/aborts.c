/* Expected: function_crashed, SIGABRT. */
#include <stdlib.h>

#include "orchid/function.h"

ORCHID_ENTRY(aborts) {
  (void)call, (void)input, (void)input_size;
  abort();
}
