// A stack frame of many pages, and a helper that must not be visible in the compiled code.
#include <orchid/function.h>

__attribute__((noinline)) int helper(volatile char* frame, size_t at) { return frame[at]; }

ORCHID_ENTRY(big_frame) {
  volatile char frame[1 << 20];
  frame[input_size & 1023] = 1;
  return helper(frame, input_size & 511);
}
