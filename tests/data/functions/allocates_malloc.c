/* Expected: limit_exceeded (memory), or function_crashed: allocates and touches without end, and
 * does not look whether it got any. */
#include <stdlib.h>
#include <string.h>

#include "orchid/function.h"

ORCHID_ENTRY(allocates_malloc) {
  (void)call, (void)input, (void)input_size;
  const size_t step = 16 << 20;
  for (;;) {
    char* volatile block = malloc(step);
    memset(block, 1, step);
  }
}
