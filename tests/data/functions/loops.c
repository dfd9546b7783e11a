/* Expected: deadline_exceeded within the deadline plus 1 s; also cancelled, when it is. Never looks
 * at orchid_should_stop. */
#include "orchid/function.h"

ORCHID_ENTRY(loops) {
  (void)call, (void)input, (void)input_size;
  for (volatile unsigned turns = 0;; ++turns) {
  }
}
