/* Expected: ok: a frame of 1 MiB fits on the stack. */
#include "orchid/function.h"

static __attribute__((noinline)) int touch_both_ends(size_t offset) {
  volatile char frame[1 << 20];
  frame[offset] = 1;
  frame[sizeof frame - 1] = 2;
  return frame[offset] + frame[sizeof frame - 1];
}

ORCHID_ENTRY(big_frame_fits) {
  (void)call, (void)input;
  return touch_both_ends(input_size) == 3 ? ORCHID_OK : ORCHID_ERROR;
}
