/* Expected: function_crashed, and a cause that names the stack: one frame of 64 MiB, whose first
 * touch lies far below the guard page. */
#include "orchid/function.h"

static __attribute__((noinline)) int touch_far_end(size_t offset) {
  volatile char frame[64 << 20];
  frame[offset] = 1;
  return frame[offset];
}

ORCHID_ENTRY(stack_big_frame) {
  (void)call, (void)input;
  return touch_far_end(input_size) == 1 ? ORCHID_OK : ORCHID_ERROR;
}
