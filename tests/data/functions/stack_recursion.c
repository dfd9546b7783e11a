/* Expected: function_crashed, and a cause that names the stack: recursion without end. */
#include "orchid/function.h"

static int descend(volatile char* above, int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return descend(frame, depth + 1) + frame[0] + above[0];
}

ORCHID_ENTRY(stack_recursion) {
  (void)call, (void)input, (void)input_size;
  volatile char start[1] = {0};
  return descend(start, 0) == 0 ? ORCHID_OK : ORCHID_ERROR;
}
