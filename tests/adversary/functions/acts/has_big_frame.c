/* Has local variables of a gibibyte, and writes to the far end. */
#include "../act.h"

ACT(has_big_frame) {
  volatile char frame[(size_t)1 << 30];
  frame[input_size] = 1;
  return frame[input_size];
}
